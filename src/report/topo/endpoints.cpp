#include "report/topo/endpoints.h"

namespace gradwire {

Endpoints endpoints_of(const Machine& machine) {
  Endpoints result;
  for (const DeviceKind kind : {DeviceKind::gpu, DeviceKind::nic})
    for (const DeviceId id : machine.topology.find_devices(kind, 0)) {
      result.ids.push_back(id);
      result.names.push_back(machine.topology.device(id).name);
      result.gpus += kind == DeviceKind::gpu;
    }
  return result;
}

std::vector<std::vector<EndpointPair>> pairs_of(const Machine& machine, const Endpoints& endpoints) {
  Routes routes(machine.topology);
  std::vector<std::vector<EndpointPair>> pairs;
  for (const DeviceId from : endpoints.ids) {
    pairs.emplace_back();
    for (const DeviceId to : endpoints.ids) {
      Path path = find_path(machine, routes, from, to);
      std::string cell = matrix_cell(machine, path);
      path.links = {};
      pairs.back().push_back({std::move(cell), std::move(path)});
    }
  }
  return pairs;
}

}  // namespace gradwire
