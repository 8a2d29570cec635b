#include "predict/parallel/search.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "predict/parallel/doubted.h"

namespace gradwire {
namespace {

std::vector<PlanTraffic> traffic_of(const PlanProblem& problem, const PlanParts& parts, GroupWires& wires) {
  const auto& layout = problem.layout;
  const auto& mesh = layout.mesh;
  const auto& times = problem.wires;
  const double each = layout.micro_batches, again = layout.recompute == Recompute::full ? 2 : 1;
  const double layers = double(problem.layers) / mesh.pp;
  std::vector<PlanTraffic> all;
  const auto add = [&](TrafficKind kind, const AllReduceEstimate& on, Seconds time, Seconds shown) {
    const bool gathers = kind == TrafficKind::replicas && layout.shard == 3;
    all.push_back({kind, gathers, on.way, time, shown, on.doubt});
  };
  if (mesh.tp > 1)
    add(TrafficKind::tensor, wires.large(mesh.tp, 1),
        each * layers * (again * times.tensor_forward + times.tensor_backward), parts.tensor);
  if (mesh.pp > 1)
    add(TrafficKind::pipeline, wires.large_message(mesh.stride(MeshDimension::pipeline)),
        message_time(problem), parts.messages);
  if (layout.expert_parallel > 1)
    add(TrafficKind::experts, wires.large(layout.expert_parallel, 1),
        each * layers * (again * times.expert_forward + times.expert_backward), parts.expert);
  if (mesh.dp > 1)
    add(TrafficKind::replicas, wires.large(mesh.dp, mesh.tp),
        each * (times.gather_forward + times.gather_backward + times.scatter) + times.join + times.spread,
        parts.replicas + parts.slowdown);
  return all;
}

bool better(const PlannedStep& a, const PlannedStep& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.step < b.step : a.memory.total() < b.memory.total();
}

// The best of each tp, pp and shard, so that what is shown differs.
std::vector<PlannedStep> best_of_each(const std::vector<PlannedStep>& all, int most) {
  std::vector<PlannedStep> chosen;
  std::map<std::tuple<int, int, int>, int> seen;
  for (const auto& plan : all) {
    if (static_cast<int>(chosen.size()) == most) break;
    if (seen[{plan.layout.mesh.tp, plan.layout.mesh.pp, plan.layout.shard}]++ == 0) chosen.push_back(plan);
  }
  return chosen;
}

// Trays of a rack may have nothing in common but NVLink.
bool joins_its_gpus(const Machine& machine) {
  Routes routes(machine.topology);
  for (int i = 1; i < machine.gpus_per_node(); ++i)
    if (!routes.find_route(machine.gpus[0], machine.gpus[static_cast<std::size_t>(i)])) return false;
  return true;
}

std::optional<Machine> find_built(const NodeSpec& node, const Machine& like) {
  try {
    return build_machine(node, like.nodes, like.network);
  } catch (const ConfigError&) {
    return std::nullopt;  // such a node can't be described: nothing is said of it
  }
}

// How many times as long computing takes as is estimated. However the update of parameters is written, it is not most of
// a measured step.
double pace_of(const StepOnOneGpu& measured, const PlanQuestion& question, GroupWires& wires,
               const ParallelModel& model) {
  constexpr double kMostOfUpdate = 0.4;
  ParallelLayout one;
  one.precision = question.precision;
  one.micro_batch = measured.batch;
  const auto parts = price_plan(make_problem(question.shape, one, wires), model.values);
  const Seconds rest = std::min(parts.optimizer + parts.other, kMostOfUpdate * measured.step);
  return (measured.step - rest) / parts.compute;
}

PlannedStep priced(const PlanQuestion& question, const ParallelLayout& layout, GroupWires& wires,
                   const ParallelModel& model) {
  PlannedStep plan;
  plan.layout = layout;
  plan.memory = plan_memory(question.shape, layout);
  plan.fits = plan.memory.total() <= memory_limit(question, wires.machine().gpu);
  plan.parts = price_plan(make_problem(question.shape, layout, wires), model.values);
  plan.step = plan.parts.total();
  plan.samples_per_s = layout.sequences() / plan.step;
  return plan;
}

// What is said of a plan that is shown.
class Narrator {
 public:
  Narrator(const PlanQuestion& question, DoubtedMachine& machine, const ParallelModel& model)
      : question_(question),
        machine_(machine),
        model_(model),
        has_nvlink_(has_nvlink(machine.wires().machine())),
        switched_(with_nvlink_switched(machine.wires().machine())) {
    if (switched_) switched_wires_.emplace(*switched_, question.nccl);
  }

  void complete(PlannedStep& plan) {
    const auto problem = make_problem(question_.shape, plan.layout, machine_.wires());
    plan.traffic = traffic_of(problem, plan.parts, machine_.wires());
    const auto range = DoubtedPlan(machine_, question_.shape, plan, model_).range();
    plan.low = range.low;
    plan.high = range.high;
    if (!switched_) return;
    const Seconds there =
        price_plan(make_problem(question_.shape, plan.layout, *switched_wires_), model_.values).total();
    plan.nvlink_speedup = has_nvlink_ ? there / plan.step : plan.step / there;
  }

 private:
  const PlanQuestion& question_;
  DoubtedMachine& machine_;
  const ParallelModel& model_;
  bool has_nvlink_;
  std::optional<Machine> switched_;
  std::optional<GroupWires> switched_wires_;
};

}  // namespace

bool has_nvlink(const Machine& machine) {
  for (const auto& link : machine.topology.links())
    if (link.kind == LinkKind::nvlink) return true;
  return false;
}

std::optional<Machine> with_nvlink_switched(const Machine& machine) {
  auto node = machine.node;
  const auto& gpu = machine.gpu;
  if (machine.gpus_per_node() < 2 || (!has_nvlink(machine) && gpu.nvlink_links == 0)) return std::nullopt;
  node.nvlink_gen = node.nvlink_links_per_gpu = node.nvlink_links_per_pair = std::nullopt;
  node.nvlinks.clear();
  if (has_nvlink(machine)) {
    node.intra = Intra::pcie;
  } else if (gpu.nvswitch) {
    node.matrix.reset();  // of cards in slots: boards with NVSwitch are built otherwise
    node.intra = Intra::nvswitch;
  } else {
    node.intra = Intra::nvlink_pairs;
  }
  auto switched = find_built(node, machine);
  return switched && joins_its_gpus(*switched) ? switched : std::nullopt;
}

PlanAnswer make_plans(const PlanQuestion& question, const Machine& machine, int most,
                      const ParallelModel& model) {
  auto layouts = layouts_on(question, machine);
  DoubtedMachine doubted(machine, question.nccl);
  if (question.measured)
    for (const double pace = pace_of(*question.measured, question, doubted.wires(), model);
         auto& layout : layouts)
      layout.pace = pace;
  PlanAnswer answer;
  answer.usable_bytes = memory_limit(question, machine.gpu);
  answer.candidates = static_cast<int>(layouts.size());
  answer.batch = layouts.front().sequences();
  std::vector<PlannedStep> all;
  for (const auto& layout : layouts) {
    all.push_back(priced(question, layout, doubted.wires(), model));
    answer.fitting += all.back().fits;
  }
  std::stable_sort(all.begin(), all.end(), better);
  answer.plans = best_of_each(all, most);
  Narrator narrator(question, doubted, model);
  for (auto& plan : answer.plans) narrator.complete(plan);
  if (answer.fitting == 0) answer.would_fit = what_would_fit(question, machine, answer.plans.front().layout);
  return answer;
}

}  // namespace gradwire
