#include "train/pipeline/mesh_groups.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "comm/make.h"
#include "train/device_streams.h"

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

MeshWires mesh_wires(const std::string& backend, torch::Device device) {
  const MakeGroup on_host = [](const World& part, const std::string&) { return make_communicator(part); };
  const MakeGroup asked = [backend](const World& part, const std::string&) {
    return make_communicator(part, backend);
  };
  if (device.is_cuda()) return {asked, on_host, device};
  const MakeGroup host = [asked, on_host](const World& part, const std::string& group) {
    return part.size == 1 ? on_host(part, group) : asked(part, group);  // nobody to be reached
  };
  return {host, host, device};
}

MeshWires rehearsed(MeshWires wires, Rehearsal& rehearsal) {
  for (MakeGroup* const make : {&wires.tensors, &wires.numbers})
    *make = [real = *make, &rehearsal](const World& part, const std::string& group) {
      return rehearsal.among(real(part, group), group);
    };
  return wires;
}

MeshGroups::MeshGroups(const World& world, const Mesh& mesh, const std::string& backend)
    : MeshGroups(world, mesh, mesh_wires(backend)) {}

MeshGroups::MeshGroups(const World& world, const Mesh& mesh, MeshWires wires)
    : world_(world),
      mesh_(mesh),
      wires_(std::move(wires)),
      place_((check_mesh(mesh, world.size), place_of(mesh, world.rank))) {
  const auto ranks = [&](MeshDimension dimension) { return group_of(mesh_, dimension, world_.rank); };
  tensor_ = among(ranks(MeshDimension::tensor), std::string(name_of(MeshDimension::tensor)));
  data_ = made(wires_.tensors, ranks(MeshDimension::data), std::string(name_of(MeshDimension::data)));
  pipeline_ = numbers_among(ranks(MeshDimension::pipeline), std::string(name_of(MeshDimension::pipeline)));
}

std::unique_ptr<Communicator> MeshGroups::made(const MakeGroup& make, const std::vector<Rank>& ranks,
                                               const std::string& name) const {
  const std::string group = fmt::format("{}-{}", name, ranks_of(ranks));
  return make(subset(world_, ranks, group), group);
}

std::unique_ptr<Communicator> MeshGroups::among(const std::vector<Rank>& ranks,
                                                const std::string& name) const {
  return in_stream_order(made(wires_.tensors, ranks, name), wires_.device);
}

std::unique_ptr<Communicator> MeshGroups::numbers_among(const std::vector<Rank>& ranks,
                                                        const std::string& name) const {
  return made(wires_.numbers, ranks, name);
}

std::vector<std::string> describe_mesh(const Mesh& mesh, const std::string& backend,
                                       const std::vector<int>& host_of_rank) {
  std::vector<std::string> lines;
  for (const auto dimension : {MeshDimension::tensor, MeshDimension::data, MeshDimension::pipeline})
    if (mesh.size(dimension) > 1) lines.push_back(describe_dimension(mesh, dimension, backend, host_of_rank));
  return lines;
}

}  // namespace gradwire
