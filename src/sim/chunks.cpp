#include "sim/chunks.h"

#include <algorithm>

#include "sched/layout.h"

namespace gradwire {

Chunks::Chunks(const std::vector<Bytes>& sizes) : begin_{0} {
  for (const Bytes size : sizes) begin_.push_back(begin_.back() + size);
}

Chunks divide_evenly(const Shape& shape, Bytes bytes) {
  const std::size_t element = bytes % 4 == 0 ? 4 : 1;
  const Layout layout(shape, bytes / element, element);
  std::vector<Bytes> sizes;
  for (int chunk = 0; chunk < std::max({shape.chunks[kOut], shape.chunks[kIn], 1}); ++chunk)
    sizes.push_back(layout.bytes(out(chunk)));
  return Chunks(sizes);
}

Chunks equal_chunks(int count, Bytes each) {
  return Chunks(std::vector<Bytes>(static_cast<std::size_t>(count), each));
}

}  // namespace gradwire
