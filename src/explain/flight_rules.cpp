// A run that hangs, by the flight recorders of its ranks: which rank is behind, on which call.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "explain/case_file.h"
#include "import/communication_names.h"

namespace gradwire {
namespace {

struct RankProgress {
  int rank = 0;
  long last = -1;  // the latest call it made
  const RecordedCall* call = nullptr;
  std::string file;
};

using GroupProgress = std::map<std::string, std::vector<RankProgress>>;

GroupProgress progress_of(const std::vector<FlightDump>& dumps) {
  GroupProgress groups;
  for (std::size_t i = 0; i < dumps.size(); ++i) {
    std::map<std::string, RankProgress> own;
    for (const RecordedCall& call : dumps[i].calls) {
      if (call.point_to_point) continue;  // ranks differ in how many of these they make
      auto& progress = own[call.group];
      if (call.sequence < progress.last) continue;
      progress = {dumps[i].rank.value_or(static_cast<int>(i)), call.sequence, &call, dumps[i].file};
    }
    for (const auto& [group, progress] : own) groups[group].push_back(progress);
  }
  return groups;
}

const RecordedCall* find_call(const FlightDump& dump, const std::string& group, long sequence) {
  const auto found = std::find_if(dump.calls.begin(), dump.calls.end(), [&](const auto& call) {
    return call.group == group && call.sequence == sequence && !call.point_to_point;
  });
  return found == dump.calls.end() ? nullptr : &*found;
}

Finding hang_finding(const std::string& what, const std::string& evidence) {
  Finding finding;
  finding.rule = "R35";
  finding.severity = Severity::high;
  finding.what = what;
  finding.evidence = evidence;
  finding.cost_note = "the run stands still";
  finding.fix = "look at what that rank did instead: its stack (py-spy dump), its log, its input";
  return finding;
}

// A call for which every rank needs every other's part has all of them in it when it has ended: dumps of a run that goes on
// are not of one moment.
bool had_all_ranks(const RecordedCall* call) {
  if (call == nullptr || call->state != "completed") return false;
  const auto kind = collective_of(call->name);
  return kind == Collective::all_reduce || kind == Collective::all_gather ||
         kind == Collective::reduce_scatter || kind == Collective::all_to_all || kind == Collective::barrier;
}

// Some made fewer calls than others: the others wait for the first that is missing.
void check_behind(const std::string& group, const std::vector<RankProgress>& ranks,
                  const std::vector<FlightDump>& dumps, std::vector<Finding>& findings) {
  const auto [behind, ahead] =
      std::minmax_element(ranks.begin(), ranks.end(), [](auto& a, auto& b) { return a.last < b.last; });
  if (behind->last == ahead->last) return;
  const RecordedCall* missing = nullptr;
  for (const FlightDump& dump : dumps)
    if (missing == nullptr || had_all_ranks(missing))
      if (const RecordedCall* call = find_call(dump, group, behind->last + 1)) missing = call;
  if (had_all_ranks(missing)) return;
  findings.push_back(hang_finding(
      fmt::format("rank {} is behind: it never came to call {} of group {}{}, where others wait",
                  behind->rank, behind->last + 1, group,
                  missing == nullptr ? "" : fmt::format(" ({} of {})", missing->name, missing->sizes)),
      fmt::format("{}: its last call is {} ({}); rank {} is at {}", short_name(behind->file), behind->last,
                  behind->call->name, ahead->rank, ahead->last)));
}

// All are in the same call and it is not the same: sizes or kinds differ.
void check_disagreement(const std::string& group, const std::vector<RankProgress>& ranks,
                        std::vector<Finding>& findings) {
  for (const RankProgress& rank : ranks) {
    const RankProgress& first = ranks.front();
    const bool same =
        rank.call->name == first.call->name &&
        (rank.call->sizes == first.call->sizes || rank.call->name.find("all_reduce") == std::string::npos);
    if (rank.last != first.last || same) continue;
    findings.push_back(
        hang_finding(fmt::format("ranks {} and {} disagree on call {} of group {}: {} of {} against {} of {}",
                                 first.rank, rank.rank, rank.last, group, first.call->name, first.call->sizes,
                                 rank.call->name, rank.call->sizes),
                     short_name(first.file)));
    return;
  }
}

}  // namespace

void add_flight_findings(const CaseFile& given, Diagnosis& diagnosis) {
  if (given.files.dumps.size() < 2) return;
  for (const auto& [group, ranks] : progress_of(given.files.dumps)) {
    if (ranks.size() < 2) continue;
    check_behind(group, ranks, given.files.dumps, diagnosis.findings);
    check_disagreement(group, ranks, diagnosis.findings);
  }
}

}  // namespace gradwire
