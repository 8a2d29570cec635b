#include "report/topo/endpoints.h"
#include "report/topo/topo.h"
#include "topo/network.h"

namespace gradwire {
namespace {

nlohmann::json devices_json(const Topology& topology) {
  auto list = nlohmann::json::array();
  for (const Device& device : topology.devices())
    if (device.node == 0)
      list.push_back({{"name", device.name}, {"kind", to_string(device.kind)}, {"model", device.model}});
  return list;
}

nlohmann::json links_json(const Topology& topology) {
  auto list = nlohmann::json::array();
  for (const Link& link : topology.links()) {
    if (topology.device(link.from).node != 0 || topology.device(link.to).node != 0) continue;
    nlohmann::json entry = rate_json(link.rate);
    entry["from"] = topology.device(link.from).name;
    entry["to"] = topology.device(link.to).name;
    entry["kind"] = to_string(link.kind);
    entry["generation"] = link.generation;
    entry["width"] = link.width;
    list.push_back(std::move(entry));
  }
  return list;
}

nlohmann::json paths_json(const Machine& machine, const Endpoints& endpoints) {
  auto list = nlohmann::json::array();
  for (const DeviceId from : endpoints.ids)
    for (const DeviceId to : endpoints.ids) {
      if (from == to) continue;
      const Path path = find_path(machine, from, to);
      list.push_back({{"from", machine.topology.device(from).name},
                      {"to", machine.topology.device(to).name},
                      {"path", matrix_cell(machine.topology, from, to)},
                      {"gb_per_s", path.bytes_per_s / 1e9},
                      {"latency_us", path.latency * 1e6},
                      {"through_host", path.through_host}});
    }
  return list;
}

nlohmann::json network_json(const NetworkSpec& network) {
  nlohmann::json json =
      network.kind && network.gbit_per_nic ? rate_json(network_rate(network)) : nlohmann::json::object();
  if (network.kind) json["kind"] = to_string(*network.kind);
  if (network.gbit_per_nic) json["gbit_per_nic"] = *network.gbit_per_nic;
  if (network.nics_per_node) json["nics_per_node"] = *network.nics_per_node;
  if (network.gpudirect) json["gpudirect"] = *network.gpudirect;
  if (network.rails) json["rails"] = *network.rails;
  return json;
}

}  // namespace

nlohmann::json rate_json(const Rate& rate) {
  return {{"gb_per_s", rate.bytes_per_s / 1e9},
          {"nominal_gb_per_s", rate.nominal_bytes_per_s / 1e9},
          {"nccl_gb_per_s", rate.nccl_bytes_per_s / 1e9},
          {"latency_us", rate.latency * 1e6}};
}

nlohmann::json machine_json(const Machine& machine) {
  const Endpoints endpoints = endpoints_of(machine);
  nlohmann::json json = {{"name", machine.name},         {"source", machine.source}, {"nodes", machine.nodes},
                         {"gpus", machine.gpus.size()},  {"gpu", machine.gpu.id},    {"p2p", machine.p2p},
                         {"cpu", machine.node.cpu_model}};
  json["network"] = machine.network ? network_json(*machine.network) : nlohmann::json();
  json["matrix"] = {{"names", endpoints.names}, {"cells", matrix_cells(machine, endpoints)}};
  json["paths"] = paths_json(machine, endpoints);
  json["devices"] = devices_json(machine.topology);
  json["links"] = links_json(machine.topology);
  json["facts"] = machine.facts;
  json["notes"] = machine.notes;
  return json;
}

}  // namespace gradwire
