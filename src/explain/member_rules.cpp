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

// The log of one node has its own ranks alone; that nothing follows is what makes it worth a look.
void hint_at_missing_ranks(const std::vector<NcclLog>& logs, std::vector<Finding>& hints) {
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
  hints.push_back(std::move(hint));
}

}  // namespace

void check_members(const std::vector<NcclLog>& logs, Diagnosis& diagnosis) {
  for (const NcclLog& log : logs) check_same_ranks(log, diagnosis.findings);
  hint_at_missing_ranks(logs, diagnosis.hints);
}

}  // namespace gradwire
