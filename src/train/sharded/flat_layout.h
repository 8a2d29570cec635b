// How the parameters of a unit lie in one flat block, and which elements of which parameter each rank's equal
// share of it holds. Every parameter begins on a multiple of `align` elements; gaps and the tail, which make the
// shares equal, hold zeros. A value; without torch.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/units.h"

namespace gradwire {

struct FlatMember {
  std::int64_t offset = 0, elements = 0;
  bool operator==(const FlatMember&) const = default;
};

// Elements [begin, end) of a member lie in a rank's share from `at` on.
struct FlatPiece {
  int member = 0;
  std::int64_t begin = 0, end = 0, at = 0;
  bool operator==(const FlatPiece&) const = default;
};

class FlatLayout {
 public:
  FlatLayout() = default;
  // Throws ConfigError for a negative count of elements, fewer than one rank or an alignment below one.
  FlatLayout(std::span<const std::int64_t> elements, int ranks, std::int64_t align);

  const std::vector<FlatMember>& members() const { return members_; }
  std::int64_t total() const { return share_ * ranks_; }  // elements of the whole block
  std::int64_t share() const { return share_; }           // of a rank's share
  std::vector<FlatPiece> pieces(Rank rank) const;         // in the order of the share

 private:
  std::vector<FlatMember> members_;
  int ranks_ = 1;
  std::int64_t share_ = 0;
};

}  // namespace gradwire
