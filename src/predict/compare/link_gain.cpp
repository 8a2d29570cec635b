#include "predict/compare/link_gain.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

#include "predict/compare/range.h"

namespace gradwire {
namespace {

// A world that differs from the one that was estimated.
struct World {
  double computing = 1;                // takes so many times as long
  double of_better = 0, of_worse = 0;  // logarithm of the factor that a machine's collectives take longer by
  double hides = 0;                    // 1: host memory hides collectives as direct links do
  double other_slots = 0;              // 1: slots are the other ones
  double noise = 0;                    // logarithm of what the gain itself is off by, from run to run
};

// Moves a world by a share of the way to that end of eight of ten: -1 to 1. What has one end alone leaves it there for the other.
using Doubt = std::function<void(World&, double share)>;

Roofline slowed(Roofline roofline, double times) {
  for (auto* shares : {&roofline.plain, &roofline.tensor})
    for (double& share : *shares) share /= times;
  roofline.memory /= times;
  roofline.kernel_floor *= times;
  return roofline;
}

class Gains {
 public:
  explicit Gains(const LinkQuestion& question) : q_(question) {}

  double in(const World& world) const {
    StepModel model = q_.model;
    model.roofline = slowed(model.roofline, world.computing);
    const auto& constants = q_.model.constants;
    model.constants.slowdown_host += world.hides * (constants.slowdown_direct - constants.slowdown_host);
    const auto* better = q_.other ? &q_.other->better : nullptr;
    const auto* worse = q_.other ? &q_.other->worse : nullptr;
    return step(q_.worse, worse, world.of_worse, world, model) /
           step(q_.better, better, world.of_better, world, model) * std::exp(world.noise);
  }

 private:
  Seconds step(const Contender& contender, const Contender* other, double longer, const World& world,
               const StepModel& model) const {
    Wires wires = contender.wires;
    const double times = std::exp(longer), share = world.other_slots;
    wires.all_reduce = [&, times, share](Bytes bytes) {
      const Seconds here = times * contender.wires.all_reduce(bytes);
      return share == 0 ? here : here * std::pow(times * other->wires.all_reduce(bytes) / here, share);
    };
    return estimate_step(q_.workload, q_.worse.machine.gpu, wires, q_.options, model).step;
  }

  const LinkQuestion& q_;
};

double spread_of(const Wires& wires) {
  return wires.doubt.total() > 0 ? wires.doubt.total() : wires.relative_error / kEightOfTen;
}

// What constants of the NCCL model do to both machines' collectives, and where data goes the same way also what
// they leave open, moves both steps; the rest moves one of them.
void doubt_wires(const LinkQuestion& q, std::vector<Doubt>& doubts) {
  const Wires &better = q.better.wires, &worse = q.worse.wires;
  const auto add = [&](double of_better, double of_worse) {
    doubts.push_back([=](World& world, double share) {
      world.of_better += share * kEightOfTen * of_better;
      world.of_worse += share * kEightOfTen * of_worse;
    });
  };
  if (better.path == worse.path) {
    const double both = spread_of(worse);
    add(both, both);
    add(0, ratio_spread(better, 1, worse, 1));
  } else {
    add(spread_of(better), 0);
    add(0, spread_of(worse));
  }
}

// That collectives through host memory hide nothing rests on one pair of GPUs (presets/step.yaml).
std::vector<Doubt> doubts_of(const LinkQuestion& q) {
  std::vector<Doubt> doubts = {
      [](World& world, double share) { world.noise += share * kEightOfTen * kSpreadOfRatio; }};
  if (const double unsure = q.better.estimate.computing_error; unsure > 0)
    doubts.push_back([unsure](World& world, double share) { world.computing += share * unsure; });
  if (q.other) doubts.push_back([](World& world, double share) { world.other_slots = std::max(0.0, share); });
  if (same_way(q.better, q.worse)) return doubts;
  doubt_wires(q, doubts);
  if (q.options.backend == Backend::nccl && (q.better.wires.through_host || q.worse.wires.through_host))
    doubts.push_back([](World& world, double share) { world.hides = std::max(0.0, share); });
  return doubts;
}

}  // namespace

// Two cards behind each PCIe switch instead of none; all lanes for each of two cards instead of half of a desktop's.
std::optional<NodeSpec> in_other_slots(const Machine& machine) {
  NodeSpec node = machine.node;
  if (machine.nodes > 1) return std::nullopt;
  if (node.lanes_assumed) {
    node.pcie_width = machine.gpu.pcie_width;
    node.lanes_assumed = false;
    return node;
  }
  if (!node.pcie_assumed || node.pcie->gpus_per_switch > 0 || machine.gpus.size() <= 2) return std::nullopt;
  node.pcie->gpus_per_switch = node.pcie->gpus_per_bridge = 2;
  return node;
}

std::string other_slots_words(const Machine& machine) {
  const auto& node = machine.node;
  if (!node.lanes_assumed) return "slots are assumed, with two cards behind each PCIe switch";
  const int all = machine.gpu.pcie_width;
  return fmt::format("slots are taken as x{} each, with x{}", node.pcie_width.value_or(all), all);
}

std::optional<OtherSlots> other_slots(const Contender& better, const Contender& worse,
                                      const StepOptions& options) {
  const auto of_better = in_other_slots(better.machine), of_worse = in_other_slots(worse.machine);
  if (!of_better || !of_worse || options.backend != Backend::nccl) return std::nullopt;
  OtherSlots other{better, worse, other_slots_words(worse.machine)};
  const Bytes bytes = std::min(worse.estimate.gradient_bytes, options.buckets.rest);
  for (const auto& [contender, node] : {std::pair{&other.better, &*of_better}, {&other.worse, &*of_worse}}) {
    contender->machine = build_machine(*node);
    contender->wires = wires_for(contender->machine, options, bytes);
  }
  return other;
}

Effect link_gain(const LinkQuestion& question) {
  const Gains gains(question);
  const auto doubts = doubts_of(question);
  return range_of(doubts.size(), [&](std::span<const double> shares) {
    World world;
    for (std::size_t i = 0; i < doubts.size(); ++i) doubts[i](world, shares[i]);
    return gains.in(world);
  });
}

double gain_in_other_slots(const LinkQuestion& question) {
  World world;
  world.other_slots = 1;
  return Gains(question).in(world);
}

}  // namespace gradwire
