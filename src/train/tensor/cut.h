// Which part of a tensor a rank of a tensor-parallel group holds, as numbers: without torch.
//
// A dimension is cut into one share a rank, the larger ones first where it does not divide. Weights of several
// matrices in one (queries, keys and values) are cut block by block, so that a rank gets its heads of each.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gradwire {

struct Share {
  std::int64_t begin = 0, count = 0;
  std::int64_t end() const { return begin + count; }
  bool operator==(const Share&) const = default;
};

// Of `total` things, those of part `index` of `parts`.
Share share_of(std::int64_t total, int parts, int index);

// How a tensor is cut among the ranks of a group.
struct TensorCut {
  int dim = -1;    // -1: every rank has all of it
  int blocks = 1;  // equal blocks along `dim`, each cut by itself
  bool whole() const { return dim < 0; }
  bool operator==(const TensorCut&) const = default;
};

// What one rank of a group has of a tensor.
struct TensorPart {
  TensorCut cut = {};
  int parts = 1, index = 0;
  bool whole() const { return cut.whole() || parts == 1; }
  bool operator==(const TensorPart&) const = default;
};

// How long a part is along the dimension that is cut, `total` long in all; nothing where its blocks don't divide that.
std::optional<std::int64_t> find_length(std::int64_t total, const TensorPart& part);

// The places along the cut dimension, `total` long, that part `index` holds, in its order.
std::vector<Share> shares_of(std::int64_t total, int blocks, int parts, int index);

// Throws ConfigError naming `what` ("16 heads") when `count` does not divide among `parts` ranks.
void check_divides(const std::string& what, std::int64_t count, int parts);

}  // namespace gradwire
