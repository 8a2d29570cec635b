#include "sim/pipelined.h"

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "sched/algorithms.h"
#include "sim/simulate.h"

namespace gradwire {
namespace {

constexpr int kBlock = 2 * kPiecesInFlight;  // of whole blocks in flight, and of both trees of a pair
constexpr double kSteady = 1e-9;

int chunks_of(const Part& part) { return std::max(part.shape.chunks[kOut], part.shape.chunks[kIn]); }

struct Replay {
  const Pipelined& call;
  const Network& network;
  const CostModel& cost;
  Bytes chunk;

  Seconds time(int cut) const {
    const std::vector<Plan> plans = make_plans(call.parts(cut));
    return simulate_time(plans, equal_chunks(chunks_of(plans[0].part), chunk), network, cost).time;
  }
};

}  // namespace

PipelinedTime pipelined_time(const Pipelined& call, const Network& network, const CostModel& cost) {
  if (call.cut < 1) throw ConfigError(fmt::format("data in {} pieces: there must be at least 1", call.cut));
  const std::vector<Part> one = call.parts(1);
  check(!one.empty(), "a collective needs ranks");
  const int chunks = chunks_of(one[0]) * call.cut;
  const Replay replay{call, network, cost,
                      (call.bytes + static_cast<Bytes>(chunks) - 1) / static_cast<Bytes>(chunks)};
  int pieces = std::min(call.cut, kBlock + call.cut % kBlock);
  Seconds time = replay.time(pieces), each = 0;
  for (int more = kBlock; pieces + more < call.cut; more *= 2) {
    const Seconds later = replay.time(pieces + more);
    const Seconds before = std::exchange(each, (later - std::exchange(time, later)) / more);
    pieces += more;
    const double error = std::abs(each - before) / each;
    if (before == 0 || error > call.tolerance) continue;
    return {time + (call.cut - pieces) * each, error < kSteady ? 0 : error, pieces};
  }
  return {pieces == call.cut ? time : replay.time(call.cut), 0, call.cut};
}

}  // namespace gradwire
