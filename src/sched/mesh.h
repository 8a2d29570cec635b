// Who is who when ranks are cut along several dimensions at once: tensor (tp), context (cp), data (dp) and
// pipeline (pp) parallelism. One rank order for all of Gradwire, that of Megatron-LM: tp innermost, so that
// neighbours share a layer, then cp, then dp, and pp outermost:
//
//   rank = ((p * dp + d) * cp + c) * tp + t
//
// Pure functions of values; every one throws ConfigError for a shape or a rank that can't be.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace gradwire {

// replica: all ranks that hold the same weights, dp and cp together; gradients are joined over it.
enum class MeshDimension : std::uint8_t { tensor, context, data, pipeline, replica };
std::string_view name_of(MeshDimension);  // "tp", "cp", "dp", "pp", "dp x cp"

struct Mesh {
  int dp = 1, tp = 1, pp = 1, cp = 1;
  int ranks() const { return dp * tp * pp * cp; }
  int size(MeshDimension) const;
  int stride(MeshDimension) const;  // ranks between neighbours; of replica: between neighbours along cp
  bool operator==(const Mesh&) const = default;
};
std::string to_string(const Mesh&);  // "dp 2 x tp 4 x pp 2", dimensions of one left out

struct MeshPlace {
  int data = 0, tensor = 0, pipeline = 0, context = 0;
  bool operator==(const MeshPlace&) const = default;
};
MeshPlace place_of(const Mesh&, Rank);
Rank rank_at(const Mesh&, const MeshPlace&);

// The ranks that differ from `rank` in that dimension alone, itself among them, ascending.
std::vector<Rank> group_of(const Mesh&, MeshDimension, Rank rank);

// All groups of a dimension, by their first rank; every rank is in one of them.
std::vector<std::vector<Rank>> groups_of(const Mesh&, MeshDimension);

void check_mesh(const Mesh&);             // every size is 1 or more, and the product is below 2^24
void check_mesh(const Mesh&, int ranks);  // and is that of the ranks there are

}  // namespace gradwire
