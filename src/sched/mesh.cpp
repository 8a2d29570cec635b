#include "sched/mesh.h"

#include <fmt/format.h>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr std::int64_t kMostRanks = 1 << 24;

// Steps along a dimension with `stride`, from the first rank of the group.
std::vector<Rank> walk_group(Rank first, int size, int stride) {
  std::vector<Rank> members(static_cast<std::size_t>(size));
  for (int i = 0; i < size; ++i) members[static_cast<std::size_t>(i)] = first + i * stride;
  return members;
}

}  // namespace

std::string_view name_of(MeshDimension dimension) {
  constexpr std::string_view kNames[] = {"tp", "cp", "dp", "pp", "dp x cp"};
  return kNames[static_cast<int>(dimension)];
}

int Mesh::size(MeshDimension dimension) const {
  const int sizes[] = {tp, cp, dp, pp, dp * cp};
  return sizes[static_cast<int>(dimension)];
}

int Mesh::stride(MeshDimension dimension) const {
  const int strides[] = {1, tp, tp * cp, tp * cp * dp, tp};
  return strides[static_cast<int>(dimension)];
}

std::string to_string(const Mesh& mesh) {
  std::string text;
  for (const auto& [name, size] :
       {std::pair{"dp", mesh.dp}, {"cp", mesh.cp}, {"tp", mesh.tp}, {"pp", mesh.pp}})
    if (size > 1) text += fmt::format("{}{} {}", text.empty() ? "" : " x ", name, size);
  return text.empty() ? "one rank" : text;
}

void check_mesh(const Mesh& mesh) {
  std::int64_t ranks = 1;
  for (const auto& [name, size] :
       {std::pair{"dp", mesh.dp}, {"tp", mesh.tp}, {"pp", mesh.pp}, {"cp", mesh.cp}}) {
    if (size < 1) throw ConfigError(fmt::format("{} {}: write 1 or more", name, size));
    ranks *= size;
    if (ranks > kMostRanks)
      throw ConfigError(fmt::format("{}: more than {} ranks", to_string(mesh), kMostRanks));
  }
}

void check_mesh(const Mesh& mesh, int ranks) {
  check_mesh(mesh);
  if (mesh.ranks() != ranks)
    throw ConfigError(fmt::format("{} are {} ranks, and there are {}", to_string(mesh), mesh.ranks(), ranks));
}

MeshPlace place_of(const Mesh& mesh, Rank rank) {
  check_mesh(mesh);
  if (rank < 0 || rank >= mesh.ranks())
    throw ConfigError(fmt::format("rank {} of {}, which has {}", rank, to_string(mesh), mesh.ranks()));
  return {.data = rank / (mesh.tp * mesh.cp) % mesh.dp,
          .tensor = rank % mesh.tp,
          .pipeline = rank / (mesh.tp * mesh.cp * mesh.dp),
          .context = rank / mesh.tp % mesh.cp};
}

Rank rank_at(const Mesh& mesh, const MeshPlace& place) {
  check_mesh(mesh);
  const bool inside = place.data >= 0 && place.data < mesh.dp && place.tensor >= 0 &&
                      place.tensor < mesh.tp && place.pipeline >= 0 && place.pipeline < mesh.pp &&
                      place.context >= 0 && place.context < mesh.cp;
  if (!inside)
    throw ConfigError(fmt::format("no place dp {} tp {} pp {} cp {} in {}", place.data, place.tensor,
                                  place.pipeline, place.context, to_string(mesh)));
  return ((place.pipeline * mesh.dp + place.data) * mesh.cp + place.context) * mesh.tp + place.tensor;
}

std::vector<Rank> group_of(const Mesh& mesh, MeshDimension dimension, Rank rank) {
  auto first = place_of(mesh, rank);
  const bool replica = dimension == MeshDimension::replica;
  if (dimension == MeshDimension::tensor) first.tensor = 0;
  if (dimension == MeshDimension::pipeline) first.pipeline = 0;
  if (dimension == MeshDimension::context || replica) first.context = 0;
  if (dimension == MeshDimension::data || replica) first.data = 0;
  return walk_group(rank_at(mesh, first), mesh.size(dimension), mesh.stride(dimension));
}

std::vector<std::vector<Rank>> groups_of(const Mesh& mesh, MeshDimension dimension) {
  check_mesh(mesh);
  std::vector<std::vector<Rank>> groups;
  for (Rank rank = 0; rank < mesh.ranks(); ++rank)
    if (auto group = group_of(mesh, dimension, rank); group.front() == rank)
      groups.push_back(std::move(group));
  return groups;
}

}  // namespace gradwire
