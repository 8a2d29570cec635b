#include "net/shm/shm_transport.h"

#include <algorithm>
#include <utility>

#include "net/backoff.h"
#include "net/exchange.h"
#include "net/message_transport.h"
#include "net/shm/shm_wire.h"

namespace gradwire {
namespace {

// Small enough that what is under way stays in a core's second cache, and in sum on machines with many cores.
std::size_t ring_bytes(int ranks, const ShmOptions& options) {
  constexpr std::size_t kBest = 512 << 10, kAllRings = 16 << 20;
  const std::size_t wanted = options.ring_bytes != 0
                                 ? options.ring_bytes
                                 : std::min(kBest, kAllRings / static_cast<std::size_t>(ranks));
  return std::max(Ring::kSmallest, Ring::bytes_for(wanted));
}

// Watch first, open second: see PeerWatch.
std::unique_ptr<Wire> connect(const World& world, Segment mine, const std::vector<std::string>& published,
                              const Backoff& backoff) {
  std::vector<SegmentName> names;
  std::vector<pid_t> processes;
  for (const auto& text : published) {
    names.push_back(SegmentName::parse(text));
    processes.push_back(names.back().pid);
  }
  PeerWatch watch(processes, world.names());
  std::vector<Segment> segments;
  for (Rank other = 0; other < world.size; ++other)
    segments.push_back(other == world.rank
                           ? std::exchange(mine, Segment{})
                           : open_segment_of(other, names[other], other, {watch, world.names()}));
  return std::make_unique<ShmWire>(world.names(), std::move(segments), std::move(watch), backoff);
}

}  // namespace

std::unique_ptr<Transport> make_shm_transport(const World& world, const ShmOptions& options) {
  const Deadline deadline = Deadline::after(world.timeout);
  Segment mine;
  const auto published = exchange(world, "shared memory", deadline, [&] {
    mine = Segment::create(ShmWire::layout_bytes(world.size, ring_bytes(world.size, options)), world.rank);
    return mine.name().text();
  });
  const Backoff backoff = backoff_for(world, deadline);
  std::unique_ptr<Wire> wire;
  // Nobody leaves before everybody has opened what the others own.
  exchange(world, "access to shared memory", deadline, [&] {
    wire = connect(world, std::move(mine), published, backoff);
    return std::string();
  });
  return std::make_unique<MessageTransport>(world.names(), world.size, std::move(wire));
}

}  // namespace gradwire
