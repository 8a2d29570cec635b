// A machine as NCCL's log shows it: what nobody stated, and what its collectives should reach.
#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "explain/log_words.h"
#include "explain/what_if.h"
#include "topo/build/box_name.h"

namespace gradwire {
namespace {

// The run's, where files are of one run; else the first.
NcclLog log_of_run(const std::vector<NcclLog>& logs) {
  NcclLog run = find_joined(logs).value_or(logs.front());
  run.file = logs.front().file;
  return run;
}

// By NCCL's own count, or in logs without one by the places of ranks, where all said theirs.
NodesOfRun nodes_of(const NcclLog& log) {
  if (log.nodes && log.gpus_per_node) return {*log.nodes, *log.gpus_per_node};
  std::map<std::string, int> hosts;
  for (const LoggedRank& place : log.places) ++hosts[place.host];
  const bool all = log.ranks && static_cast<int>(log.places.size()) == *log.ranks;
  if (!all || hosts.empty() || hosts.contains("")) return {log.nodes.value_or(0), 0};
  return {static_cast<int>(hosts.size()), std::max_element(hosts.begin(), hosts.end(), [](auto& a, auto& b) {
                                            return a.second < b.second;
                                          })->second};
}

// NVLink between all of a node: on boards with NVSwitch, in the meshes of early ones, by a bridge between two.
std::optional<BoxLink> find_nvlink(const Gpu& gpu, int gpus) {
  constexpr int kLinksOfMesh = 4, kMostOfMesh = 8;
  if (gpu.nvswitch) return BoxLink::nvswitch;
  const bool mesh = gpu.nvlink_gen <= 2 && gpu.nvlink_links >= kLinksOfMesh;
  if (mesh) return gpus <= kMostOfMesh ? BoxLink::nvlink : BoxLink::nvswitch;
  return gpus == 2 ? std::optional(BoxLink::nvlink) : std::nullopt;
}

// Peers that were turned off, or go through host memory though they need not, show what is wrong and not what there is.
// Boards with NVSwitch have no other way between two GPUs that reach each other.
std::optional<BoxLink> find_link(const CaseFile& given, const NcclLog& log, const Gpu& gpu, int gpus) {
  if (gpus == 1) return BoxLink::pcie;
  if (turns_peers_off(log.variables) || log.blocked_p2p) return std::nullopt;
  const bool peers = log.find(Transport::p2p) != nullptr;
  if (gpu.nvlink_links == 0) return peers || !gpu.pcie_p2p ? std::optional(BoxLink::pcie) : std::nullopt;
  if (!peers || log.find(Transport::shared_memory) != nullptr) return std::nullopt;
  const NvlinkAnswer answer = answer_nvlink(given);
  if (answer.used == Answered::yes || (gpu.nvswitch && answer.used == Answered::unknown))
    return find_nvlink(gpu, gpus);
  const bool none = answer.used == Answered::no && answer.present == Answered::no;
  return none ? std::optional(BoxLink::pcie) : std::nullopt;
}

std::optional<NetworkKind> find_kind(const NcclLog& log) {
  const std::string& said = log.network.text;
  if (said.starts_with("IB")) return log.roce ? NetworkKind::roce : NetworkKind::infiniband;
  if (said.starts_with("Socket")) return NetworkKind::ethernet;
  return said.find("Libfabric") != std::string::npos ? std::optional(NetworkKind::efa) : std::nullopt;
}

std::optional<NetworkSpec> find_logged_network(const NcclLog& log) {
  NetworkSpec network;
  network.kind = find_kind(log);
  network.gbit_per_nic = log.card_gbit;
  const std::size_t cards = log.used_cards.empty() ? log.cards.size() : log.used_cards.size();
  if (!network.kind || !network.gbit_per_nic || cards == 0) return std::nullopt;
  network.nics_per_node = static_cast<int>(cards);
  if (log.find(Transport::network) != nullptr)
    network.gpudirect = std::any_of(log.transports.begin(), log.transports.end(),
                                    [](const LoggedTransport& one) { return one.gpudirect; });
  return network;
}

}  // namespace

NodesOfRun nodes_in_logs(const std::vector<NcclLog>& logs, int world) {
  if (logs.empty()) return {};
  const NcclLog log = log_of_run(logs);
  const bool same = log.ranks && (world == 0 || *log.ranks == world);
  return same ? nodes_of(log) : NodesOfRun{};
}

std::optional<Machine> find_logged_machine(const CaseFile& given) {
  const std::string id = gpu_named(given.files);
  if (given.files.logs.empty() || id.empty()) return std::nullopt;
  const NcclLog log = log_of_run(given.files.logs);
  const NodesOfRun nodes = nodes_of(log);
  if (log.rccl || nodes.gpus_each == 0) return std::nullopt;
  const auto link = find_link(given, log, find_gpu(id), nodes.gpus_each);
  if (!link) return std::nullopt;
  const std::string name = fmt::format("{}x-{}-{}", nodes.gpus_each, id, to_string(*link));
  const auto network = nodes.nodes > 1 ? find_logged_network(log) : std::nullopt;
  try {
    const auto node = find_box(name);
    if (!node) return std::nullopt;
    Machine machine = build_machine(*node, network ? nodes.nodes : 1, network);
    machine.name = fmt::format("{}:{}{}", short_name(log.file),
                               network ? fmt::format("{}*", nodes.nodes) : std::string(), name);
    machine.source = "NCCL's log " + log.file;
    return machine;
  } catch (const ConfigError&) {
    return std::nullopt;  // no such machine can be built: no rate, and no reason to stop
  }
}

}  // namespace gradwire
