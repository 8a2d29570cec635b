#include "sim/pipelined.h"

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "sched/pieces.h"
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
  for (int few = kBlock + call.cut % kBlock; few + 4 * kBlock < call.cut; few *= 2) {
    few += (call.cut - few) % kBlock;
    const Seconds first = replay.time(few), second = replay.time(few + kBlock);
    const Seconds block = second - first;
    const Seconds later = replay.time(few + 2 * kBlock), last = replay.time(few + 4 * kBlock);
    const bool steady = std::abs(later - second - block) < kSteady * later &&
                        std::abs(last - later - 2 * block) < kSteady * last;
    if (steady) return {last + ((call.cut - few) / kBlock - 4) * block, few + 4 * kBlock, true};
  }
  return {replay.time(call.cut), call.cut, false};
}

}  // namespace gradwire
