// How many bytes the chunks of a program have: the input's elements divided evenly, so that chunks differ by
// at most one element and some are empty when there are more chunks than elements. A value.
//
// All buffers of a collective share one rule, chunk c begins at element c * elements / chunks, because `in`
// and `out` differ in length by a factor by which their chunks differ too.
#pragma once

#include "sched/program.h"

namespace gradwire {

class Layout {
 public:
  // `elements` is what the larger of `in` and `out` holds, each of `element` bytes.
  Layout(const Shape& shape, std::uint64_t elements, std::size_t element);

  Bytes bytes(const Slice& slice) const { return begin(slice.like + slice.count) - begin(slice.like); }
  // Where the slice begins in its buffer.
  Bytes offset(const Slice& slice) const {
    return slice.buffer == kScratch ? slice.first * scratch_stride_ : begin(slice.first);
  }
  Bytes scratch_bytes() const { return scratch_chunks_ * scratch_stride_; }

 private:
  Bytes begin(std::uint64_t chunk) const { return chunk * elements_ / chunks_ * element_; }

  std::uint64_t elements_, chunks_, element_;
  std::uint64_t scratch_chunks_, scratch_stride_;
};

}  // namespace gradwire
