#include "explain/traced_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "predict/step/on_machine.h"

namespace gradwire {
namespace {

constexpr double kFarFrom = 1.15;  // the run's own step over what is said of its machine

const AnalyzedRank& last_rank(const RunAnalysis& analysis) {
  return *std::max_element(analysis.ranks.begin(), analysis.ranks.end(), [](const auto& a, const auto& b) {
    return a.summary.last_share < b.summary.last_share;
  });
}

bool could_be_its_own(const TracedRun& run, const Machine& machine) {
  const auto gpu = find_gpu_by_name(run.gpu);
  return gpu && gpu->id == machine.gpu.id && static_cast<int>(machine.gpus.size()) == run.world;
}

std::string rate_words(const TracedRun& run, const Machine& machine) {
  if (!run.calls) return {};
  const auto expected =
      find_expected_rate(machine, run.calls->collective.kind, run.calls->bytes, run.calls->ranks);
  if (!expected) return {};
  return fmt::format(", and its all-reduces reached {:.2f} GB/s of busbw{} where {:.2f} are assumed there",
                     run.calls->busbw_gbps, run.calls->matched ? "" : " (waiting included)",
                     expected->busbw_gbps);
}

// Of the machines that it could have run on, the one that is said to take longest is nearest to it.
void add_distance(const TracedRun& run, const Workload& workload, const StepOptions& options,
                  const std::vector<Machine>& machines, std::vector<std::string>& remarks) {
  const Machine* nearest = nullptr;
  Seconds longest = 0;
  for (const Machine& machine : machines) {
    if (!could_be_its_own(run, machine)) continue;
    const Seconds step = estimate_step(workload, machine, options).step;
    if (step > longest) nearest = &machine;
    longest = std::max(longest, step);
  }
  const Seconds took =
      options.anchor->recorded->step();  // of all micro-batches, however the trace marks them
  if (nearest == nullptr || took < kFarFrom * longest) return;
  remarks.push_back(
      fmt::format("the run itself took {:.1f} ms a step, not the {:.1f} of {}{}: gradwire doctor {} says "
                  "what held it up",
                  took * 1e3, longest * 1e3, nearest->name, rate_words(run, *nearest), run.file));
}

}  // namespace

TracedRun traced_run(const RunAnalysis& analysis, const std::string& file) {
  TracedRun run{file, analysis.gpu, analysis.world.value_or(1), {}};
  for (const CollectiveRow& row : analysis.collectives)
    if (!run.calls && row.collective.kind == Collective::all_reduce && row.busbw_gbps > 0) run.calls = row;
  return run;
}

TracedModel recorded_run(const std::vector<Profile>& profiles, const RunAnalysis& analysis,
                         double parameters) {
  const AnalyzedRank& last = last_rank(analysis);
  const auto its = std::find_if(profiles.begin(), profiles.end(),
                                [&](const Profile& profile) { return profile.file == last.file; });
  const Profile& profile = its == profiles.end() ? profiles.at(0) : *its;
  const TracedSteps steps = traced_steps(profile, parameters);
  TracedModel model{model_of(steps.timeline, profile.file), steps.micro_batches};
  Breakdown& parts = *model.recorded.anchor.recorded;
  const Seconds waits = std::min(last.summary.wait * model.micro_batches, parts.comm_exposed);
  parts.comm_exposed -= waits;
  parts.other += waits;
  return model;
}

std::string other_gpu(const std::string& traced, const Machine& machine) {
  if (traced.empty() || machine.gpu.id.empty()) return {};
  const auto gpu = find_gpu_by_name(traced);
  return gpu && gpu->id == machine.gpu.id ? std::string() : traced;
}

std::vector<std::string> remarks_on(const TracedRun& run, const Workload& workload,
                                    const StepOptions& options, const std::vector<Machine>& machines) {
  std::vector<std::string> remarks;
  if (!options.anchor || !options.anchor->recorded) return remarks;
  std::set<std::string> others;
  for (const Machine& machine : machines)
    if (!other_gpu(run.gpu, machine).empty()) others.insert(machine.gpu.name);
  if (!others.empty()) {
    const bool differ = others.size() > 1;  // then the comparison says itself what it compares
    remarks.push_back(fmt::format("computing as measured on {} stands for that of {}{}", run.gpu,
                                  join({others.begin(), others.end()}, " and of "),
                                  differ ? "" : ": the links alone are compared"));
  }
  add_distance(run, workload, options, machines, remarks);
  return remarks;
}

}  // namespace gradwire
