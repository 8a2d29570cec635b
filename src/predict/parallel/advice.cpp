#include "predict/parallel/advice.h"

#include <fmt/format.h>

#include <algorithm>

namespace gradwire {
namespace {

constexpr int kMostNodes = 4096;

std::string gib(double bytes) { return fmt::format("{:.1f} GiB", bytes / (1 << 30)); }

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
    return plan_memory(question.shape, layout).total() <= usable_memory(machine.gpu);
  });
}

std::string nodes_in_words(const PlanQuestion& question, const Machine& machine, int nodes) {
  auto text = fmt::format("it fits {} such nodes of {}", nodes, counted_gpus(machine.gpus_per_node()));
  if (question.dp || question.tp || question.pp) text += ", with dp, tp and pp left open";
  return text;
}

}  // namespace

std::optional<int> find_fitting_nodes(const PlanQuestion& asked, const Machine& machine) {
  const auto question = frugal(asked);
  for (int nodes = machine.nodes + 1; nodes <= kMostNodes; ++nodes)
    if (fits(question, machine, nodes)) return nodes;
  return std::nullopt;
}

std::vector<std::string> what_would_fit(const PlanQuestion& question, const Machine& machine,
                                        const PlannedStep& least) {
  std::vector<std::string> advice;
  advice.push_back(fmt::format("{} does not fit: the least is {} a GPU ({}), of which {} can be used",
                               question.shape.name, gib(least.memory.total()), describe(least.layout),
                               gib(usable_memory(machine.gpu))));
  if (!question.offload) {
    auto host = least.layout;
    host.offload_optimizer = true;
    const auto memory = plan_memory(question.shape, host);
    if (memory.total() <= usable_memory(machine.gpu))
      advice.push_back(fmt::format("with the optimizer's state in host memory (--offload) it takes {}",
                                   gib(memory.total())));
  }
  if (const auto nodes = find_fitting_nodes(question, machine))
    advice.push_back(nodes_in_words(question, machine, *nodes));
  else
    advice.push_back(
        fmt::format("{} such nodes do not hold it: a GPU with more memory is needed", kMostNodes));
  return advice;
}

}  // namespace gradwire
