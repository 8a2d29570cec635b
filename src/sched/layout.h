// How many bytes the chunks of a program have: the input's elements divided evenly, so that chunks differ by
// at most one element and some are empty when there are more chunks than elements. A value.
//
// All buffers of a collective share one rule, chunk c begins at element c * elements / chunks, because `in`
// and `out` differ in length by a factor by which their chunks differ too.
#pragma once

#include <algorithm>

#include "sched/program.h"

namespace gradwire {

class Layout {
 public:
  // `elements` is what the larger of `in` and `out` holds, each of `element` bytes.
  Layout(const Shape& shape, std::uint64_t elements, std::size_t element)
      : elements_(elements),
        chunks_(static_cast<std::uint64_t>(std::max({shape.chunks[kOut], shape.chunks[kIn], 1}))),
        element_(element),
        scratch_chunks_(static_cast<std::uint64_t>(shape.chunks[kScratch])) {
    const std::uint64_t largest = (elements_ + chunks_ - 1) / chunks_ * element_;
    scratch_stride_ = (largest + kAlignment - 1) / kAlignment * kAlignment;
  }

  Bytes bytes(const Slice& slice) const { return begin(slice.like + slice.count) - begin(slice.like); }
  // Where the slice begins in its buffer.
  Bytes offset(const Slice& slice) const {
    return slice.buffer == kScratch ? slice.first * scratch_stride_ : begin(slice.first);
  }
  Bytes scratch_bytes() const { return scratch_chunks_ * scratch_stride_; }

 private:
  static constexpr std::uint64_t kAlignment = 64;  // a cache line, which is also a vector of any processor
  Bytes begin(std::uint64_t chunk) const { return chunk * elements_ / chunks_ * element_; }

  std::uint64_t elements_, chunks_, element_;
  std::uint64_t scratch_chunks_, scratch_stride_;
};

}  // namespace gradwire
