#include <map>
#include <tuple>

#include "report/machine_notes.h"
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

constexpr std::size_t kMostListed = 256;  // GPUs and cards of which every pair is listed

nlohmann::json path_json(const Endpoints& endpoints, std::size_t from, std::size_t to,
                         const EndpointPair& pair) {
  return {{"from", endpoints.names[from]},
          {"to", endpoints.names[to]},
          {"path", pair.cell},
          {"gb_per_s", pair.path.bytes_per_s / 1e9},
          {"latency_us", pair.path.latency * 1e6},
          {"through_host", pair.path.through_host}};
}

// Every pair; of very many only the first of each kind, with the number of `pairs` like it.
nlohmann::json paths_json(const Endpoints& endpoints, const std::vector<std::vector<EndpointPair>>& pairs) {
  auto list = nlohmann::json::array();
  std::map<std::tuple<std::string, double, Seconds, bool>, std::size_t> kinds;  // where in the list
  for (std::size_t from = 0; from < pairs.size(); ++from)
    for (std::size_t to = 0; to < pairs.size(); ++to) {
      if (from == to) continue;
      const auto& [cell, path] = pairs[from][to];
      if (pairs.size() > kMostListed) {
        const auto [kind, is_new] =
            kinds.try_emplace({cell, path.bytes_per_s, path.latency, path.through_host}, list.size());
        if (!is_new) {
          auto& count = list[kind->second]["pairs"];
          count = count.get<int>() + 1;
          continue;
        }
      }
      list.push_back(path_json(endpoints, from, to, pairs[from][to]));
      if (pairs.size() > kMostListed) list.back()["pairs"] = 1;
    }
  return list;
}

nlohmann::json matrix_json(const Endpoints& endpoints, const std::vector<std::vector<EndpointPair>>& pairs) {
  auto rows = nlohmann::json::array();
  for (const auto& row : pairs) {
    auto cells = nlohmann::json::array();
    for (const EndpointPair& pair : row) cells.push_back(pair.cell);
    rows.push_back(std::move(cells));
  }
  return {{"names", endpoints.names}, {"cells", std::move(rows)}};
}

nlohmann::json network_json(const NetworkSpec& network) {
  nlohmann::json json =
      network.kind && network.gbit_per_nic ? rate_json(network_rate(network)) : nlohmann::json::object();
  if (network.kind) json["kind"] = to_string(*network.kind);
  if (network.gbit_per_nic) json["gbit_per_nic"] = *network.gbit_per_nic;
  if (network.nics_per_node) json["nics_per_node"] = *network.nics_per_node;
  if (network.gpudirect) json["gpudirect"] = goes_direct(network, true);
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

nlohmann::json machine_json(const Machine& machine, const Endpoints& endpoints,
                            const std::vector<std::vector<EndpointPair>>& pairs) {
  nlohmann::json json = {{"name", machine.name},         {"source", machine.source}, {"nodes", machine.nodes},
                         {"gpus", machine.gpus.size()},  {"gpu", machine.gpu.id},    {"p2p", machine.p2p},
                         {"cpu", machine.node.cpu_model}};
  json["network"] = machine.network ? network_json(*machine.network) : nlohmann::json();
  json["matrix"] = matrix_json(endpoints, pairs);
  json["paths"] = paths_json(endpoints, pairs);
  json["devices"] = devices_json(machine.topology);
  json["links"] = links_json(machine.topology);
  json["facts"] = machine.facts;
  json["notes"] = all_notes(machine);
  return json;
}

}  // namespace gradwire
