#include "train/sharded/flat_layout.h"

#include <algorithm>

#include "base/error.h"

namespace gradwire {
namespace {

std::int64_t aligned(std::int64_t count, std::int64_t unit) { return (count + unit - 1) / unit * unit; }

}  // namespace

FlatLayout::FlatLayout(std::span<const std::int64_t> elements, int ranks, std::int64_t align)
    : ranks_(ranks) {
  if (ranks < 1 || align < 1)
    throw ConfigError(fmt::format("a flat layout for {} ranks, aligned to {} elements", ranks, align));
  std::int64_t offset = 0;
  for (const auto count : elements) {
    if (count < 0) throw ConfigError(fmt::format("a parameter of {} elements", count));
    members_.push_back({offset, count});
    offset += aligned(count, align);
  }
  share_ = aligned((offset + ranks - 1) / ranks, align);
}

std::vector<FlatPiece> FlatLayout::pieces(Rank rank) const {
  const std::int64_t first = rank * share_, last = first + share_;
  std::vector<FlatPiece> result;
  for (std::size_t i = 0; i < members_.size(); ++i) {
    const auto& [offset, elements] = members_[i];
    const std::int64_t begin = std::max(first, offset), end = std::min(last, offset + elements);
    if (begin < end) result.push_back({static_cast<int>(i), begin - offset, end - offset, begin - first});
  }
  return result;
}

}  // namespace gradwire
