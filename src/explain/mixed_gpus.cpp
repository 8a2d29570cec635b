#include "explain/mixed_gpus.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"

namespace gradwire {
namespace {

// The one that a rank computed on; empty: the trace does not say.
std::string gpu_of(const Profile& profile) {
  const auto first = std::find_if(profile.activities.begin(), profile.activities.end(),
                                  [](const Activity& activity) { return on_gpu(activity.kind); });
  if (first == profile.activities.end()) return {};
  const auto device = profile.lanes[static_cast<std::size_t>(first->lane)].process;
  const bool known = device >= 0 && device < static_cast<std::int64_t>(profile.gpus.size());
  return known ? profile.gpus[static_cast<std::size_t>(device)] : std::string();
}

}  // namespace

void blame_slower_gpu(const CaseFile& given, Finding& finding) {
  const auto& straggler = given.analysis->verdict.rank;
  std::string own;
  std::set<std::string> others;
  for (const Profile& profile : given.files.profiles) {
    if (straggler && profile.rank == straggler)
      own = gpu_of(profile);
    else
      others.insert(gpu_of(profile));
  }
  if (own.empty() || others.empty() || others.contains(own) || others.contains("")) return;
  finding.rule = "R31";
  finding.what += fmt::format("; its GPU is {}, theirs {}", own, *others.begin());
  finding.fix = "GPUs of one make, or a smaller batch for the slower, weighted in the mean of the gradients";
}

void hint_at_mixed_gpus(const PciReport& report, std::vector<Finding>& hints) {
  std::set<std::string> makes;
  for (const auto& device : report.devices)
    if (device.gpu && !device.product.empty()) makes.insert(device.product);
  if (makes.size() < 2) return;
  Finding hint;
  hint.rule = "R31";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what =
      fmt::format("GPUs of different make ({}): a run over all of them goes at the slowest one's pace",
                  join({makes.begin(), makes.end()}, ", "));
  hint.evidence = short_name(report.file);
  hint.fix = "CUDA_VISIBLE_DEVICES  # those of one make; or batches by what each can do";
  hints.push_back(std::move(hint));
}

}  // namespace gradwire
