#include "predict/compare/plan_gain.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "predict/parallel/doubted.h"
#include "predict/step/other_slots.h"

namespace gradwire {
namespace {

// Standard deviations of the logarithm, 1.25 of the mean errors of docs/parallel.md: of ratios of two runs that differ in
// the number of GPUs, in recomputation or sharding, in how GPUs are divided; and of the step on a GPU of another kind.
constexpr double kSpreadOfCounts = kDeviationOfMean * 0.049;
constexpr double kSpreadOfMemory = kDeviationOfMean * 0.095, kSpreadOfMeshes = kDeviationOfMean * 0.133;

// What is doubted of two machines together.
struct BothWorlds {
  double of_better = 0, of_worse = 0;  // standard deviations that a machine's collectives take longer by
  double apart =
      0;  // logarithm of the factor that the worse one's take longer by, where both go the same way
  double computing = 0;    // logarithm of the factor that everything else takes longer by
  double hides = 1;        // 0: host memory hides nothing
  double other_slots = 0;  // 1: slots are the other ones
  double noise = 0;        // logarithm of what the gain itself is off by

  PlanWorld better() const { return {of_better, 0, computing, hides, other_slots}; }
  PlanWorld worse() const { return {of_worse, apart, computing, hides, other_slots}; }
};

using PlanDoubt = std::function<void(BothWorlds&, double share)>;

bool same_paths(const PlannedStep& a, const PlannedStep& b) {
  return std::ranges::equal(a.traffic, b.traffic, [](const PlanTraffic& one, const PlanTraffic& other) {
    return one.kind == other.kind && one.way == other.way;
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
    one.way = a.traffic[i].way, other.way = b.traffic[i].way;
    one.doubt = a.traffic[i].doubt, other.doubt = b.traffic[i].doubt;
    spread = ratio_spread(one, other);
  }
  return spread;
}

// From run to run, and where more differs than the wires.
double noise_of(const PlanSide& better, const PlanSide& worse, const ParallelModel& model) {
  const auto &a = better.plan.layout, &b = worse.plan.layout;
  const bool same_mesh = a.mesh.tp == b.mesh.tp && a.mesh.pp == b.mesh.pp &&
                         a.virtual_stages == b.virtual_stages && a.expert_parallel == b.expert_parallel;
  const bool same_memory = a.shard == b.shard && a.recompute == b.recompute;
  const double layouts = !same_mesh               ? kSpreadOfMeshes
                         : !same_memory           ? kSpreadOfMemory
                         : a.mesh.dp != b.mesh.dp ? kSpreadOfCounts
                                                  : 0;
  const double gpus =
      better.machine.gpu.id == worse.machine.gpu.id ? 0 : kDeviationOfMean * model.error_of(a.pace && b.pace);
  return std::hypot(kSpreadOfRatio, layouts, gpus);
}

void doubt_wires(const PlannedStep& better, const PlannedStep& worse, std::vector<PlanDoubt>& doubts) {
  if (!same_paths(better, worse)) {
    doubts.push_back([](BothWorlds& world, double share) { world.of_better += share * kEightOfTen; });
    doubts.push_back([](BothWorlds& world, double share) { world.of_worse += share * kEightOfTen; });
    return;
  }
  doubts.push_back([](BothWorlds& world, double share) {
    world.of_better += share * kEightOfTen;
    world.of_worse += share * kEightOfTen;
  });
  doubts.push_back([spread = spread_apart(better, worse)](BothWorlds& world, double share) {
    world.apart += share * kEightOfTen * spread;
  });
}

std::vector<PlanDoubt> doubts_of_both(double noise, double error_of_computing) {
  const double computing = kDeviationOfMean * error_of_computing;
  return {[=](BothWorlds& world, double share) { world.noise += share * kEightOfTen * noise; },
          [=](BothWorlds& world, double share) { world.computing += share * kEightOfTen * computing; }};
}

void doubt_hiding(BothWorlds& world, double share) { world.hides = 1 - std::max(0.0, share); }
void doubt_slots(BothWorlds& world, double share) { world.other_slots = std::max(0.0, share); }

using GainInBoth = std::function<double(const BothWorlds&)>;

// The gain with its range and, where slots are assumed that may be others, what it is there.
PlanGain gain_in(const std::vector<PlanDoubt>& doubts, const GainInBoth& gain, const Machine* in_others) {
  PlanGain result{range_of(doubts.size(),
                           [&](std::span<const double> shares) {
                             BothWorlds world;
                             for (std::size_t i = 0; i < doubts.size(); ++i) doubts[i](world, shares[i]);
                             return gain(world);
                           }),
                  std::nullopt, 1};
  if (in_others == nullptr) return result;
  BothWorlds other;
  other.other_slots = 1;
  result.other_slots = other_slots_of(*in_others);
  result.in_other_slots = gain(other);
  return result;
}

}  // namespace

PlanGain plan_gain(const PlanQuestion& question, const PlanSide& better, const PlanSide& worse,
                   const ParallelModel& model) {
  DoubtedMachine on_better(better.machine, question.nccl), on_worse(worse.machine, question.nccl);
  const DoubtedPlan fast(on_better, question.shape, better.plan, model),
      slow(on_worse, question.shape, worse.plan, model);
  const double sequences = double(better.plan.layout.sequences()) / worse.plan.layout.sequences();
  const auto gain = [&](const BothWorlds& world) {
    return slow.step(world.worse()) / fast.step(world.better()) * sequences * std::exp(world.noise);
  };
  auto doubts = doubts_of_both(noise_of(better, worse, model), model.error_of(question.measured.has_value()));
  doubt_wires(better.plan, worse.plan, doubts);
  if (fast.through_host() || slow.through_host()) doubts.push_back(doubt_hiding);
  const bool slots = fast.has_other_slots() && slow.has_other_slots();
  if (slots) doubts.push_back(doubt_slots);
  return gain_in(doubts, gain, slots ? &worse.machine : nullptr);
}

PlanGain gain_without_limits(const PlanQuestion& question, const PlanSide& side, const ParallelModel& model) {
  DoubtedMachine machine(side.machine, question.nccl);
  const DoubtedPlan plan(machine, question.shape, side.plan, model);
  const auto gain = [&](const BothWorlds& world) {
    return plan.step(world.worse()) / plan.step_without_wires(world.worse()) * std::exp(world.noise);
  };
  auto doubts = doubts_of_both(kSpreadOfRatio, model.error_of(question.measured.has_value()));
  doubts.emplace_back([](BothWorlds& world, double share) { world.of_worse += share * kEightOfTen; });
  if (plan.through_host()) doubts.push_back(doubt_hiding);
  if (plan.has_other_slots()) doubts.push_back(doubt_slots);
  return gain_in(doubts, gain, plan.has_other_slots() ? &side.machine : nullptr);
}

}  // namespace gradwire
