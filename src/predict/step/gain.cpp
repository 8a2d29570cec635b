#include "predict/step/gain.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <vector>

namespace gradwire {
namespace {

// A world that differs from the one that was estimated.
struct World {
  double computing = 0;                // logarithm of the factor that it takes longer by
  double of_better = 0, of_worse = 0;  // logarithm of the factor that a machine's collectives take longer by
  double hides = 0;                    // 1: host memory hides collectives as direct links do
  double noise = 0;                    // logarithm of what the gain itself is off by, from run to run
  std::vector<double> otherwise = {};  // 1: it is as that pair of the question has it
};

// Moves a world by a share of the way to that end of eight of ten: -1 to 1. What has one end alone leaves it there for the other.
using Unknown = std::function<void(World&, double share)>;

// Moves a problem that was like `here` toward what it is `there`, as far as the world is that one.
void move_toward(const StepProblem& there, const StepProblem& here, double share, StepProblem& problem) {
  const auto mix = [share](Seconds& time, Seconds from, Seconds to) {
    if (from > 0) time *= std::pow(to / from, share);
  };
  for (std::size_t i = 0; i < problem.buckets.size(); ++i)
    mix(problem.buckets[i].time, here.buckets[i].time, there.buckets[i].time);
  mix(problem.buffers, here.buffers, there.buffers);
  problem.host_share =
      std::clamp(problem.host_share + share * (there.host_share - here.host_share), 0.0, 1.0);
}

class Gains {
 public:
  explicit Gains(const GainQuestion& question) : q_(question) {}

  double in(const World& world) const {
    auto constants = q_.constants;
    constants.slowdown_host += world.hides * (constants.slowdown_direct - constants.slowdown_host);
    return step(&WiredPair::worse, world.of_worse, world, constants) /
           step(&WiredPair::better, world.of_better, world, constants) * std::exp(world.noise);
  }

 private:
  Seconds step(WiredStep WiredPair::*side, double longer, const World& world,
               const StepConstants& constants) const {
    const auto& here = (q_.here.*side).problem;
    auto problem = here;
    for (std::size_t i = 0; i < world.otherwise.size(); ++i)
      if (world.otherwise[i] > 0)
        move_toward((q_.otherwise[i].*side).problem, here, world.otherwise[i], problem);
    problem.forward *= std::exp(world.computing);
    problem.backward *= std::exp(world.computing);
    return solve_step(on_slower_wires(std::move(problem), std::exp(longer)), constants);
  }

  const GainQuestion& q_;
};

double spread_of(const Wires& wires) {
  return wires.doubt.total() > 0 ? wires.doubt.total() : wires.relative_error / kEightOfTen;
}

// What constants of the NCCL model do to both machines' collectives, and where data goes the same way also what
// they leave open, moves both steps; the rest moves one of them.
void doubt_wires(const Wires& better, const Wires& worse, std::vector<Unknown>& doubts) {
  const auto add = [&](double of_better, double of_worse) {
    doubts.push_back([=](World& world, double share) {
      world.of_better += share * kEightOfTen * of_better;
      world.of_worse += share * kEightOfTen * of_worse;
    });
  };
  if (err_alike(better, worse)) {
    const double both = spread_of(worse);
    add(both, both);
    add(0, ratio_spread(better, worse));
  } else {
    add(spread_of(better), 0);
    add(0, spread_of(worse));
  }
}

Seconds communication_of(const StepProblem& problem) {
  Seconds sum = 0;
  for (const auto& bucket : problem.buckets) sum += bucket.time;
  return sum;
}

// What more GPUs wait for (their slowest, the input that all read, a framework's own work) is not what fewer wait for.
double runs_differ_by(const StepProblem& better, const StepProblem& worse) {
  if (better.ranks == worse.ranks) return kSpreadOfRatio;
  return std::max({kSpreadOfRatio, run_spread(better), run_spread(worse)});
}

// That collectives through host memory hide nothing rests on one pair of GPUs (presets/step.yaml).
std::vector<Unknown> doubts_of(const GainQuestion& q) {
  const auto& [better, worse] = q.here;
  const double runs = runs_differ_by(better.problem, worse.problem);
  std::vector<Unknown> doubts = {
      [runs](World& world, double share) { world.noise += share * kEightOfTen * runs; }};
  if (const double unsure = q.computing_error; unsure > 0)
    doubts.push_back([unsure](World& world, double share) { world.computing += share * std::log1p(unsure); });
  for (std::size_t i = 0; i < q.otherwise.size(); ++i)
    doubts.push_back([i](World& world, double share) { world.otherwise[i] = std::max(0.0, share); });
  if (same_way(better.wires, communication_of(better.problem), worse.wires, communication_of(worse.problem)))
    return doubts;
  doubt_wires(better.wires, worse.wires, doubts);
  if (worse.problem.options.backend == Backend::nccl &&
      (better.wires.through_host || worse.wires.through_host))
    doubts.push_back([](World& world, double share) { world.hides = std::max(0.0, share); });
  return doubts;
}

}  // namespace

Effect link_gain(const GainQuestion& question) {
  const Gains gains(question);
  const auto doubts = doubts_of(question);
  return range_of(doubts.size(), [&](std::span<const double> shares) {
    World world;
    world.otherwise.resize(question.otherwise.size());
    for (std::size_t i = 0; i < doubts.size(); ++i) doubts[i](world, shares[i]);
    return gains.in(world);
  });
}

double gain_otherwise(const GainQuestion& question, std::size_t which) {
  World world;
  world.otherwise.resize(question.otherwise.size());
  world.otherwise[which] = 1;
  return Gains(question).in(world);
}

bool same_way(const Wires& wires, Seconds communication, const Wires& other, Seconds others) {
  return go_alike(wires, other) && std::abs(communication - others) <= 0.01 * std::max(communication, others);
}

}  // namespace gradwire
