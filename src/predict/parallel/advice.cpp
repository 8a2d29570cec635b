#include "predict/parallel/advice.h"

#include <algorithm>

#include "predict/parallel/memory.h"

namespace gradwire {
namespace {

// What holds least of all that is left open: one sequence at a time, one chunk a stage, everything computed again.
PlanQuestion frugal(PlanQuestion question) {
  question.dp = question.tp = question.pp = std::nullopt;
  question.recompute = question.recompute.value_or(Recompute::full);
  question.micro_batch = question.micro_batch.value_or(1);
  question.virtual_stages = question.virtual_stages.value_or(1);
  return question;
}

bool fits(const PlanQuestion& question, const Machine& machine, int nodes) {
  const auto layouts = candidate_layouts(question, nodes * machine.gpus_per_node());
  return std::ranges::any_of(layouts, [&](const ParallelLayout& layout) {
    return plan_memory(question.shape, layout).total() <= memory_limit(question, machine.gpu);
  });
}

}  // namespace

std::optional<int> find_fitting_nodes(const PlanQuestion& asked, const Machine& machine) {
  const auto question = frugal(asked);
  for (int nodes = machine.nodes + 1; nodes <= kMostNodesTried; ++nodes)
    if (fits(question, machine, nodes)) return nodes;
  return std::nullopt;
}

WouldFit what_would_fit(const PlanQuestion& question, const Machine& machine, const ParallelLayout& least) {
  WouldFit fit;
  if (!question.offload) {
    auto host = least;
    host.offload_optimizer = true;
    const double bytes = plan_memory(question.shape, host).total();
    if (bytes <= memory_limit(question, machine.gpu)) {
      fit.offloaded = bytes;
      fit.host = plan_memory(question.shape, host).host * machine.gpus_per_node();
    }
  }
  fit.nodes = find_fitting_nodes(question, machine);
  return fit;
}

}  // namespace gradwire
