// Which ranks came, where processes say so as they start: two that are the same, and those of whom nothing is heard.
#include <fmt/format.h>

#include <set>

#include "explain/log_words.h"

namespace gradwire {
namespace {

void check_same_ranks(const NcclLog& log, std::vector<Finding>& findings) {
  const LoggedMembers& members = log.members;
  if (!members.twice || static_cast<int>(members.times.size()) >= members.world) return;
  Finding finding;
  finding.rule = "R23";
  finding.severity = Severity::high;
  finding.ends_the_run = true;  // the ranks that nobody is are waited for
  finding.what = fmt::format(
      "several processes say that they are the same rank: {} of {} ranks are there, some of them twice",
      members.times.size(), members.world);
  finding.evidence = place(log.file, members.again, members.again.text);
  finding.fix =
      "one launcher for all: srun with --ntasks-per-node equal to Trainer(devices=...), or torchrun alone; "
      "num_nodes as many as there are";
  findings.push_back(std::move(finding));
}

// More than there are ranks: those of an earlier try, or of another run, count in the same store.
void check_meeting(const NcclLog& log, std::vector<Finding>& findings) {
  constexpr int kAtTheEnd = 10;  // lines: the log ends while ranks wait
  const LoggedMeeting& meeting = log.meeting;
  const bool more = meeting.came > meeting.world,
             fewer = meeting.came < meeting.world && log.lines - meeting.line < kAtTheEnd;
  if (meeting.line == 0 || (!more && !fewer)) return;
  Finding finding;
  finding.rule = more ? "R23" : "R36";
  finding.severity = Severity::high;
  finding.sure = Certainty::likely;
  finding.ends_the_run = true;
  finding.what =
      more ? fmt::format(
                 "{} processes have come where {} ranks are expected: those of an earlier try, or of "
                 "another run, count too, and ranks wait for each other",
                 meeting.came, meeting.world)
           : fmt::format(
                 "{} of {} ranks have come, and the others are waited for: they were not started, "
                 "died, or can't reach rank 0",
                 meeting.came, meeting.world);
  finding.evidence = line_of_file(log.file, meeting.line, meeting.text);
  finding.fix =
      more ? "another --master-port and --rdzv-id for each run; kill what is left; torchrun "
             "--max-restarts 0 shows what the first try died of"
           : "the log of the rank that is missing; MASTER_ADDR and MASTER_PORT as every node reaches "
             "them; as many processes as WORLD_SIZE says";
  findings.push_back(std::move(finding));
}

// Rank 0 says when all have come: its log ends before that.
bool ends_unmet(const NcclLog& log) {
  constexpr int kAtTheEnd = 5;  // lines
  return log.members.times.contains(0) && log.lines - log.members.last_line < kAtTheEnd;
}

// The log of one node has its own ranks alone; that nothing follows is what makes it worth a look.
void check_missing_ranks(const std::vector<NcclLog>& logs, Diagnosis& diagnosis) {
  std::set<int> came;
  const NcclLog* first = nullptr;
  for (const NcclLog& log : logs) {
    if (log.members.met || log.nccl_lines > 0 || log.members.twice) return;
    for (const auto& [rank, times] : log.members.times) came.insert(rank);
    if (first == nullptr && log.members.world > 0) first = &log;
  }
  if (first == nullptr || static_cast<int>(came.size()) >= first->members.world) return;
  Finding hint;
  hint.rule = "R36";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what = fmt::format(
      "{} of {} ranks are heard of, and nothing more: the others were not started, or can't reach rank 0",
      came.size(), first->members.world);
  hint.evidence = place(first->file, first->members.first, first->members.first.text);
  hint.fix =
      "as many processes on each node as Trainer(devices=...) says (srun --ntasks-per-node); MASTER_ADDR and "
      "MASTER_PORT as every node reaches them; NCCL_DEBUG=INFO";
  const bool sure_enough = ends_unmet(*first);
  if (sure_enough) hint.severity = Severity::medium;
  hint.ends_the_run = sure_enough;
  (sure_enough ? diagnosis.findings : diagnosis.hints).push_back(std::move(hint));
}

}  // namespace

void check_members(const std::vector<NcclLog>& logs, Diagnosis& diagnosis) {
  for (const NcclLog& log : logs) {
    check_same_ranks(log, diagnosis.findings);
    check_meeting(log, diagnosis.findings);
  }
  check_missing_ranks(logs, diagnosis);
}

}  // namespace gradwire
