#include "sim/ring_estimate.h"

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "sched/choose.h"
#include "sim/ring_recurrence.h"
#include "sim/sharing.h"
#include "sim/simulate.h"

namespace gradwire {
namespace {

// Messages. More would take seconds, and gigabytes for their programs.
constexpr double kMostReplayed = 4e6;

// What a hop gets of the narrowest of its pipes: alone on them, and when everybody else is on them too.
struct Rates {
  Seconds latency = 0;
  double alone = std::numeric_limits<double>::infinity(), crowded = alone;
};

struct RingShape {
  std::vector<Rates> hops;
  double busiest = 0;     // of the pipe with most to do: hops that cross it, by its rate
  bool touching = false;  // some pipe is too narrow for all who cross it at full rate
  bool alike = true;      // all hops have one latency and one crowded rate
};

class RingAnalysis {
 public:
  RingAnalysis(const Network& network, double efficiency)
      : network_(network),
        efficiency_(efficiency),
        crossings_(network.pipes().size()),
        wanted_(crossings_.size()) {
    for (Rank rank = 0; rank < network.world(); ++rank) {
      ways_.push_back(network.way({rank, (rank + 1) % network.world()}));
      for (const PipeId pipe : network.route(ways_.back())) ++crossings_[pipe];
    }
  }

  RingShape shape() {
    RingShape shape;
    for (const WayId way : ways_) {
      const Rates hop = rates(way);
      shape.hops.push_back(hop);
      shape.alike =
          shape.alike && same(hop.latency, shape.hops[0].latency) && same(hop.crowded, shape.hops[0].crowded);
      for (const PipeId pipe : network_.route(way)) wanted_[pipe] += hop.alone;
    }
    for (std::size_t i = 0; i < crossings_.size(); ++i) {
      shape.touching = shape.touching || wanted_[i] > rate(static_cast<PipeId>(i)) * (1 + kSame);
      shape.busiest = std::max(shape.busiest, crossings_[i] / rate(static_cast<PipeId>(i)));
    }
    return shape;
  }

 private:
  static bool same(double a, double b) { return a == b || std::abs(a - b) <= kSame * std::abs(a); }
  double rate(PipeId pipe) const { return network_.pipes()[pipe].bytes_per_s * efficiency_; }

  Rates rates(WayId way) const {
    const auto route = network_.route(way);
    Rates hop{.latency = network_.latency(way)};
    for (const PipeId pipe : route) {
      hop.alone = std::min(hop.alone, rate(pipe) / static_cast<double>(std::ranges::count(route, pipe)));
      hop.crowded = std::min(hop.crowded, rate(pipe) / crossings_[pipe]);
    }
    return hop;
  }

  const Network& network_;
  const double efficiency_;
  std::vector<WayId> ways_;
  std::vector<double> crossings_, wanted_;  // by pipe
};

double messages_of_a_hop(const RingCall& call, int world) {
  return (call.kind == Collective::all_reduce ? 2.0 : 1.0) * (world - 1) * call.cut;
}

struct Call {
  const RingShape& shape;
  const CostModel& cost;
  RingCall ring;

  int world() const { return static_cast<int>(shape.hops.size()); }

  Seconds time(double Rates::*rate, Bytes chunk) const {
    std::vector<Hop> hops;
    for (const Rates& hop : shape.hops)
      hops.push_back({hop.latency, cost.per_message + static_cast<double>(chunk) / hop.*rate});
    if (shape.alike && rate == &Rates::crowded) hops.resize(1);
    const std::size_t period = period_of(hops);
    return ring_recurrence(std::span(hops).first(period),
                           {ring.kind, world(), ring.cut, cost.reduce(chunk), copy_time(chunk)});
  }

  // Everything that crosses the busiest pipe, at its full rate, after the least latency of any hop.
  Seconds pipe_time(Bytes chunk) const {
    const double messages = messages_of_a_hop(ring, world());
    const auto nearest = std::ranges::min_element(shape.hops, {}, &Rates::latency);
    return nearest->latency + cost.per_message + messages * static_cast<double>(chunk) * shape.busiest;
  }

  // Of a rank's own part to its place, in one go.
  Seconds copy_time(Bytes chunk) const {
    return ring.kind == Collective::all_gather ? cost.copy(chunk * static_cast<Bytes>(ring.cut)) : 0;
  }

  Seconds high(Bytes chunk) const { return time(shape.touching ? &Rates::crowded : &Rates::alone, chunk); }

  Seconds low(Bytes chunk) const {
    return shape.touching ? std::max(time(&Rates::alone, chunk), pipe_time(chunk)) : high(chunk);
  }
};

}  // namespace

Estimate estimate_ring(const RingCall& call, const Network& network, const CostModel& cost) {
  check_cost(cost);
  if (call.cut < 1)
    throw ConfigError(fmt::format("a ring with {} pieces: there must be at least 1", call.cut));
  if (!can(Algorithm::ring, call.kind))
    throw ConfigError(fmt::format("there is no ring for {}", name_of(call.kind)));
  if (network.world() < 2) {  // nobody to talk to; but where `in` and `out` are two, data moves
    const Seconds alone = call.kind == Collective::all_reduce ? 0 : cost.copy(call.bytes);
    return {alone, alone};
  }
  const RingShape shape = RingAnalysis(network, cost.efficiency).shape();
  const Call asked{shape, cost, call};
  const Bytes element = call.bytes % 4 == 0 ? 4 : 1;
  const Bytes chunks = static_cast<Bytes>(network.world()) * static_cast<Bytes>(call.cut);
  const Bytes elements = call.bytes / element, least = elements / chunks * element;
  const bool even = elements % chunks == 0;
  const Seconds high = asked.high(even ? least : least + element);
  if (even && (shape.alike || !shape.touching)) return {high, high};
  return {std::min(high, asked.low(least)), high};
}

RingTime ring_time(const RingCall& call, const Network& network, const CostModel& cost, double tolerance) {
  const Estimate estimate = estimate_ring(call, network, cost);
  const bool too_long = messages_of_a_hop(call, network.world()) * network.world() > kMostReplayed;
  if (estimate.error() <= tolerance || too_long)
    return {estimate.high, estimate.exact() ? 0 : estimate.error(), false};
  const Problem problem{.kind = call.kind, .world = network.world(), .bytes = call.bytes};
  std::vector<Plan> plans;
  for (Rank rank = 0; rank < network.world(); ++rank)
    plans.push_back(make_plan(make_part({Algorithm::ring, call.cut}, problem, rank)));
  const Chunks chunks = divide_evenly(plans[0].part.shape, call.bytes);
  return {simulate_time(plans, chunks, network, cost).time, 0, true};
}

}  // namespace gradwire
