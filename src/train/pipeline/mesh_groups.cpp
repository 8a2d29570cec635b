#include "train/pipeline/mesh_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "comm/make.h"

namespace gradwire {
namespace {

bool on_one_host(const std::vector<Rank>& group, const std::vector<int>& hosts) {
  return std::all_of(group.begin(), group.end(), [&](Rank rank) {
    return hosts[static_cast<std::size_t>(rank)] == hosts[static_cast<std::size_t>(group.front())];
  });
}

std::string ranks_of(const std::vector<Rank>& group) {
  std::vector<std::string> names;
  for (const Rank rank : group) names.push_back(std::to_string(rank));
  return join(names, "-");
}

// As make_communicator chooses for a group.
std::string wires_of(const std::string& backend, bool one_host) {
  if (backend != "auto") return backend;
  return one_host ? "shm" : "tcp";
}

std::string describe_dimension(const Mesh& mesh, MeshDimension dimension, const std::string& backend,
                               const std::vector<int>& hosts) {
  const auto groups = groups_of(mesh, dimension);
  constexpr std::size_t kShown = 4;
  std::vector<std::string> shown;
  bool one_host = true;
  for (const auto& group : groups) {
    one_host = one_host && on_one_host(group, hosts);
    if (shown.size() < kShown) shown.push_back(ranks_of(group));
  }
  if (groups.size() > kShown) shown.push_back("...");
  return fmt::format("{} {}: ranks {} over {}, {}", name_of(dimension), mesh.size(dimension),
                     join(shown, ", "), wires_of(backend, one_host),
                     one_host ? "inside a host" : "between hosts");
}

}  // namespace

MeshGroups::MeshGroups(const World& world, const Mesh& mesh, std::string backend)
    : world_(world),
      mesh_(mesh),
      backend_(std::move(backend)),
      place_((check_mesh(mesh, world.size), place_of(mesh, world.rank))) {
  const auto make = [&](MeshDimension dimension) {
    return among(group_of(mesh_, dimension, world_.rank), std::string(name_of(dimension)));
  };
  tensor_ = make(MeshDimension::tensor);
  data_ = make(MeshDimension::data);
  pipeline_ = make(MeshDimension::pipeline);
}

std::unique_ptr<Communicator> MeshGroups::among(const std::vector<Rank>& ranks,
                                                const std::string& name) const {
  const World part = subset(world_, ranks, fmt::format("{}-{}", name, ranks_of(ranks)));
  return make_communicator(part, ranks.size() == 1 ? "auto" : backend_);
}

std::vector<std::string> describe_mesh(const Mesh& mesh, const std::string& backend,
                                       const std::vector<int>& host_of_rank) {
  std::vector<std::string> lines;
  for (const auto dimension : {MeshDimension::tensor, MeshDimension::data, MeshDimension::pipeline})
    if (mesh.size(dimension) > 1) lines.push_back(describe_dimension(mesh, dimension, backend, host_of_rank));
  return lines;
}

}  // namespace gradwire
