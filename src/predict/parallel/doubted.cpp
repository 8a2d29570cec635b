#include "predict/parallel/doubted.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <functional>
#include <vector>

#include "predict/step/on_machine.h"
#include "predict/step/other_slots.h"

namespace gradwire {
namespace {

constexpr Bytes kTypical = Bytes{1} << 25;

struct WireField {
  double PlanWires::*time;
  TrafficKind kind;
};
constexpr std::array<WireField, 12> kFields = {{{&PlanWires::tensor_forward, TrafficKind::tensor},
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

}  // namespace

DoubtedMachine::DoubtedMachine(const Machine& machine, const NcclSettings& nccl)
    : other_(in_other_slots(machine)),
      wires_(machine, nccl),
      through_host_(wires_of(machine, kTypical, nccl).through_host) {
  if (other_) other_wires_.emplace(*other_, nccl);
}

DoubtedPlan::DoubtedPlan(DoubtedMachine& machine, const TransformerSizes& shape, const PlannedStep& plan,
                         const ParallelModel& model)
    : plan_(plan),
      model_(model),
      problem_(make_problem(shape, plan.layout, machine.wires())),
      through_host_(machine.through_host()) {
  if (auto* wires = machine.find_other_wires()) other_ = make_problem(shape, plan.layout, *wires).wires;
}

double DoubtedPlan::spread_of(TrafficKind kind) const {
  const auto found = std::ranges::find(plan_.traffic, kind, &PlanTraffic::kind);
  return found == plan_.traffic.end() ? 0 : found->doubt.total();
}

Seconds DoubtedPlan::step(const PlanWorld& world) const {
  PlanProblem problem = problem_;
  for (const auto& [time, kind] : kFields) {
    const double here = problem_.wires.*time;
    if (here <= 0) continue;
    const double there = other_ ? (*other_).*time : here;
    problem.wires.*time = here * std::pow(there / here, world.other_slots) *
                          std::exp(world.collectives * spread_of(kind) + world.longer - world.computing);
  }
  ParallelValues values = model_.values;
  auto& slowdown = values[static_cast<std::size_t>(ParallelConstant::slowdown)];
  if (through_host_) slowdown += (1 - world.hides) * (1 - slowdown);
  return price_plan(problem, values).total() * std::exp(world.computing);
}

Seconds DoubtedPlan::step_without_wires(const PlanWorld& world) const {
  PlanProblem problem = problem_;
  problem.wires = {};
  return price_plan(problem, model_.values).total() * std::exp(world.computing);
}

Effect DoubtedPlan::range() const {
  using Doubt = std::function<void(PlanWorld&, double share)>;
  // What runs with nothing given, or with another one given, are off by, of the whole step; and what collectives are on the
  // way that these take.
  const double whole = kEightOfTen * kDeviationOfMean * model_.error_of(plan_.layout.pace.has_value());
  std::vector<Doubt> doubts = {
      [=](PlanWorld& world, double share) { world.longer = world.computing = share * whole; },
      [](PlanWorld& world, double share) { world.collectives = share * kEightOfTen; }};
  if (through_host_)
    doubts.emplace_back([](PlanWorld& world, double share) { world.hides = 1 - std::max(0.0, share); });
  if (other_)
    doubts.emplace_back([](PlanWorld& world, double share) { world.other_slots = std::max(0.0, share); });
  return range_of(doubts.size(), [&](std::span<const double> shares) {
    PlanWorld world;
    for (std::size_t i = 0; i < doubts.size(); ++i) doubts[i](world, shares[i]);
    return step(world);
  });
}

}  // namespace gradwire
