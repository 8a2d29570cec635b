#include "sched/layout.h"

#include <algorithm>

namespace gradwire {
namespace {

constexpr std::uint64_t kAlignment = 64;  // a cache line, which is also a vector of any processor

}  // namespace

Layout::Layout(const Shape& shape, std::uint64_t elements, std::size_t element)
    : elements_(elements),
      chunks_(static_cast<std::uint64_t>(std::max({shape.chunks[kOut], shape.chunks[kIn], 1}))),
      element_(element),
      scratch_chunks_(static_cast<std::uint64_t>(shape.chunks[kScratch])) {
  const std::uint64_t largest = (elements_ + chunks_ - 1) / chunks_ * element_;
  scratch_stride_ = (largest + kAlignment - 1) / kAlignment * kAlignment;
}

}  // namespace gradwire
