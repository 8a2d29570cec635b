// What the notes of a watched run say is wrong: threads that wait for a core, and settings of DistributedDataParallel that
// do nothing.
#include <fmt/format.h>

#include <algorithm>

#include "explain/case_file.h"

namespace gradwire {
namespace {

constexpr double kWaitMatters = 0.15, kWaitDominates = 0.30;  // of a step

// A rank whose threads are ready to run and have to wait: somebody else runs on its cores.
void check_busy_cores(const std::vector<WatchNotes>& all, std::vector<Finding>& findings) {
  const auto share = [](const WatchNotes& notes) {
    return notes.waited_ms && notes.profiled_ms.value_or(0) > 0 ? *notes.waited_ms / *notes.profiled_ms : 0;
  };
  const auto worst = std::max_element(all.begin(), all.end(),
                                      [&](const auto& a, const auto& b) { return share(a) < share(b); });
  if (worst == all.end() || share(*worst) < kWaitMatters) return;
  Finding finding;
  finding.rule = "R41";
  finding.severity = share(*worst) >= kWaitDominates ? Severity::high : Severity::medium;
  finding.what = fmt::format(
      "a thread of rank {} waits {:.1f} ms of a {:.1f} ms step for a core: other threads run on its {}",
      worst->rank, *worst->waited_ms, *worst->profiled_ms,
      worst->cores == 1 ? "only core" : fmt::format("{} cores", worst->cores));
  finding.evidence = fmt::format("{}: schedstat of its threads", short_name(worst->file));
  finding.cost_ms = worst->waited_ms;
  finding.cost_note = "measured by the kernel";
  finding.fix = "OMP_NUM_THREADS=CORES/RANKS, taskset or numactl for each rank, nothing else on those cores";
  findings.push_back(std::move(finding));
}

}  // namespace

void add_watch_findings(const CaseFile& given, Diagnosis& diagnosis) {
  check_busy_cores(given.files.notes, diagnosis.findings);
}

}  // namespace gradwire
