#include "comm/shm/common.h"

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "net/shm/segment.h"

namespace gradwire {

bool can_share_memory(const Communicator& communicator) {
  return communicator.carrier() == Carrier::shared_memory;
}

Memory allocate_common(Communicator& communicator, std::size_t bytes) {
  check(can_share_memory(communicator), "ranks that share memory");
  const int colour = communicator.size();  // ranks' own blocks have the colours below
  const bool owns = communicator.rank() == 0;
  auto segment = std::make_shared<Segment>();
  SegmentName name;
  if (owns) {
    *segment = Segment::create(std::max<std::size_t>(bytes, 1), colour, 0);
    name = segment->name();
  }
  communicator.run(broadcast(bytes_of(std::span(&name, 1)), DType::u8, 0));
  if (!owns) *segment = Segment::open(name, colour);
  communicator.run(barrier());  // the owner keeps it until all have opened it
  const auto memory = segment->bytes().first(bytes);
  return {memory, std::move(segment)};
}

}  // namespace gradwire
