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

Cells matrix_cells(const Machine& machine, const Endpoints& endpoints) {
  Cells cells;
  for (const DeviceId from : endpoints.ids) {
    cells.emplace_back();
    for (const DeviceId to : endpoints.ids) cells.back().push_back(matrix_cell(machine.topology, from, to));
  }
  return cells;
}

}  // namespace gradwire
