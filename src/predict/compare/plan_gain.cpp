#include "predict/compare/plan_gain.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "predict/step/other_slots.h"

namespace gradwire {
namespace {

// Standard deviations of the logarithm, 1.25 of the mean errors of docs/parallel.md: of ratios of two runs that differ in
// the number of GPUs, in recomputation or sharding, in how GPUs are divided; and of the step on a GPU of another kind.
constexpr double kOfMean = 1.25;
constexpr double kSpreadOfCounts = kOfMean * 0.049;
constexpr double kSpreadOfMemory = kOfMean * 0.095, kSpreadOfMeshes = kOfMean * 0.133;

struct PlanWorld {
  double of_better = 0, of_worse = 0;  // standard deviations that a machine's collectives take longer by
  double apart =
      0;  // logarithm of the factor that the worse one's take longer by, where both go the same way
  double computing = 0;    // logarithm of the factor that everything else takes longer by
  double hides = 1;        // 0: host memory hides nothing
  double other_slots = 0;  // 1: slots are the other ones
  double noise = 0;        // logarithm of what the gain itself is off by
};

using PlanDoubt = std::function<void(PlanWorld&, double share)>;

struct Field {
  double PlanWires::*time;
  TrafficKind kind;
};
constexpr std::array<Field, 12> kFields = {{{&PlanWires::tensor_forward, TrafficKind::tensor},
                                            {&PlanWires::tensor_backward, TrafficKind::tensor},
                                            {&PlanWires::context_forward, TrafficKind::replicas},
                                            {&PlanWires::context_backward, TrafficKind::replicas},
                                            {&PlanWires::expert_forward, TrafficKind::experts},
                                            {&PlanWires::expert_backward, TrafficKind::experts},
                                            {&PlanWires::message, TrafficKind::pipeline},
                                            {&PlanWires::gather_forward, TrafficKind::replicas},
                                            {&PlanWires::gather_backward, TrafficKind::replicas},
                                            {&PlanWires::scatter, TrafficKind::replicas},
                                            {&PlanWires::join, TrafficKind::replicas},
                                            {&PlanWires::spread, TrafficKind::replicas}}};

PlanProblem problem_on(const Machine& machine, const PlanQuestion& question, const ParallelLayout& layout) {
  GroupWires wires(machine, question.nccl);
  return make_problem(question.shape, layout, wires);
}

// A plan on its machine, priced again in any world.
class Priced {
 public:
  Priced(const PlanQuestion& question, const PlanSide& side, const ParallelModel& model)
      : plan_(side.plan), values_(model.values), problem_(problem_on(side.machine, question, plan_.layout)) {
    if (const auto machine = in_other_slots(side.machine))
      other_ = problem_on(*machine, question, plan_.layout).wires;
    through_host_ = wires_of(side.machine, Bytes{1} << 25, question.nccl).through_host;
  }

  bool has_other_slots() const { return other_.has_value(); }
  bool through_host() const { return through_host_; }

  // Seconds a sequence.
  double in(const PlanWorld& world, double deviations, double longer) const {
    PlanProblem problem = problem_;
    for (const auto& [time, kind] : kFields) {
      const double here = problem_.wires.*time;
      if (here <= 0) continue;
      const double there = other_ ? (*other_).*time : here;
      problem.wires.*time = here * std::pow(there / here, world.other_slots) *
                            std::exp(deviations * spread_of(kind) + longer - world.computing);
    }
    ParallelValues values = values_;
    auto& slowdown = values[static_cast<std::size_t>(ParallelConstant::slowdown)];
    if (through_host_) slowdown += (1 - world.hides) * (1 - slowdown);
    return price_plan(problem, values).total() / plan_.layout.sequences();
  }

 private:
  double spread_of(TrafficKind kind) const {
    for (const auto& traffic : plan_.traffic)
      if (traffic.kind == kind) return traffic.doubt.total();
    return 0;
  }

  const PlannedStep& plan_;
  const ParallelValues& values_;
  PlanProblem problem_;
  std::optional<PlanWires> other_;
  bool through_host_ = false;
};

bool same_paths(const PlannedStep& a, const PlannedStep& b) {
  return std::ranges::equal(a.traffic, b.traffic, [](const PlanTraffic& one, const PlanTraffic& other) {
    return one.kind == other.kind && one.path == other.path;
  });
}

// Of two that go the same way, what their collectives may differ by all the same: those that take longest.
double spread_apart(const PlannedStep& a, const PlannedStep& b) {
  Seconds longest = 0;
  double spread = 0;
  for (std::size_t i = 0; i < a.traffic.size(); ++i) {
    if (b.traffic[i].time <= longest) continue;
    longest = b.traffic[i].time;
    Wires one, other;
    one.path = a.traffic[i].path, other.path = b.traffic[i].path;
    one.doubt = a.traffic[i].doubt, other.doubt = b.traffic[i].doubt;
    spread = ratio_spread(one, other);
  }
  return spread;
}

// From run to run, and where more differs than the wires.
double noise_of(const PlanSide& better, const PlanSide& worse, const ParallelModel& model) {
  const auto &a = better.plan.layout, &b = worse.plan.layout;
  const bool same_mesh =
      a.mesh.tp == b.mesh.tp && a.mesh.pp == b.mesh.pp && a.virtual_stages == b.virtual_stages;
  const bool same_memory = a.shard == b.shard && a.recompute == b.recompute;
  const double layouts = !same_mesh               ? kSpreadOfMeshes
                         : !same_memory           ? kSpreadOfMemory
                         : a.mesh.dp != b.mesh.dp ? kSpreadOfCounts
                                                  : 0;
  const double gpus = better.machine.gpu.id == worse.machine.gpu.id ? 0 : kOfMean * model.error_alone;
  return std::hypot(kSpreadOfRatio, layouts, gpus);
}

void doubt_wires(const PlannedStep& better, const PlannedStep& worse, std::vector<PlanDoubt>& doubts) {
  if (!same_paths(better, worse)) {
    doubts.push_back([](PlanWorld& world, double share) { world.of_better += share * kEightOfTen; });
    doubts.push_back([](PlanWorld& world, double share) { world.of_worse += share * kEightOfTen; });
    return;
  }
  doubts.push_back([](PlanWorld& world, double share) {
    world.of_better += share * kEightOfTen;
    world.of_worse += share * kEightOfTen;
  });
  doubts.push_back([spread = spread_apart(better, worse)](PlanWorld& world, double share) {
    world.apart += share * kEightOfTen * spread;
  });
}

}  // namespace

PlanGain plan_gain(const PlanQuestion& question, const PlanSide& better, const PlanSide& worse,
                   const ParallelModel& model) {
  const Priced fast(question, better, model), slow(question, worse, model);
  const auto gain = [&](const PlanWorld& world) {
    return slow.in(world, world.of_worse, world.apart) / fast.in(world, world.of_better, 0) *
           std::exp(world.noise);
  };
  const double noise = noise_of(better, worse, model), computing = kOfMean * model.error_alone;
  std::vector<PlanDoubt> doubts = {
      [=](PlanWorld& world, double share) { world.noise += share * kEightOfTen * noise; },
      [=](PlanWorld& world, double share) { world.computing += share * kEightOfTen * computing; }};
  doubt_wires(better.plan, worse.plan, doubts);
  if (fast.through_host() || slow.through_host())
    doubts.push_back([](PlanWorld& world, double share) { world.hides = 1 - std::max(0.0, share); });
  const bool slots = fast.has_other_slots() && slow.has_other_slots();
  if (slots)
    doubts.push_back([](PlanWorld& world, double share) { world.other_slots = std::max(0.0, share); });
  PlanGain result{range_of(doubts.size(),
                           [&](std::span<const double> shares) {
                             PlanWorld world;
                             for (std::size_t i = 0; i < doubts.size(); ++i) doubts[i](world, shares[i]);
                             return gain(world);
                           }),
                  "", 1};
  if (!slots) return result;
  PlanWorld other;
  other.other_slots = 1;
  result.other_slots = other_slots_of(worse.machine);
  result.in_other_slots = gain(other);
  return result;
}

}  // namespace gradwire
