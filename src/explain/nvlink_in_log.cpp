// What a log of NCCL tells of NVLink. `via P2P` alone proves nothing: peer access over PCIe prints the same.
#include <fmt/format.h>

#include <algorithm>

#include "explain/log_words.h"

namespace gradwire {
namespace {

constexpr int kNvlinkChunk = 524288,
              kPcieChunk = 131072;  // where every pair of a node has NVLink, and where not

bool is_nvlink(std::string_view path) { return path.starts_with("NVL") || path.starts_with("NVB"); }

bool has_path(const std::set<std::string>& paths) {
  return std::any_of(paths.begin(), paths.end(), [](const auto& path) { return is_nvlink(path); });
}

// NCCL cuts a collective into as many parts as the links of a GPU have room for (its graph/search.cc): rates of 12 to 40 GB/s
// each fill a PCIe slot with four at most, doubled eight; NVLinks of a V100 take twelve. Between nodes cards count too.
bool has_channels_of_nvlink(const NcclLog& log) {
  constexpr int kMoreThanPcie = 12;
  const bool set = find_variable(log.variables, "NCCL_MIN_NCHANNELS") != nullptr ||
                   find_variable(log.variables, "NCCL_MIN_NRINGS") != nullptr ||
                   find_variable(log.variables, "NCCL_MIN_CTAS") != nullptr;
  return log.channels.value_or(0) >= kMoreThanPcie && !set && !log.spans_nodes() &&
         log.find(Transport::p2p) != nullptr && log.find(Transport::shared_memory) == nullptr;
}

// Between nodes, and where a variable sets it, the size says nothing of the links inside of one.
std::optional<int> telling_chunk(const NcclLog& log) {
  for (const char* name : {"NCCL_P2P_NET_CHUNKSIZE", "NCCL_P2P_NVL_CHUNKSIZE", "NCCL_P2P_PCI_CHUNKSIZE"})
    if (find_variable(log.variables, name) != nullptr) return std::nullopt;
  return log.spans_nodes() ? std::nullopt : log.p2p_chunk;
}

// "PHB/PIX": the way inside a node, then that to the network. A graph that NCCL made for GPUs with NVLink says NVL or NVB.
bool says_pcie(const NcclLog& log) {
  const auto over_pcie = [](const std::string& type) {
    return type.starts_with("PIX") || type.starts_with("PXB") || type.starts_with("PHB") ||
           type.starts_with("SYS") || type.starts_with("NODE");
  };
  const bool graph =
      !log.path_types.empty() && std::all_of(log.path_types.begin(), log.path_types.end(), over_pcie);
  // Two GPUs are every pair that there is.
  const bool chunk = telling_chunk(log) == kPcieChunk && log.ranks == 2;
  return graph || chunk || (!log.gpu_paths.empty() && !has_path(log.gpu_paths));
}

// What NCCL sees of the machine, where it may look: without peer access it sees no way but through the host.
Answered present_in(const NcclLog& log, Answered known) {
  if (says_nvlink(log)) return Answered::yes;
  const bool sees_all = !log.gpu_paths.empty() || (log.ranks == 2 && says_pcie(log));
  const bool peers_off = turns_peers_off(log.variables) || log.blocked_p2p.has_value();
  if (known == Answered::unknown && sees_all && !peers_off) return Answered::no;
  return known;
}

bool is_alone(const NcclLog& log) {
  const bool peers = log.find(Transport::p2p) != nullptr || log.find(Transport::shared_memory) != nullptr;
  return log.ranks == 1 ||
         (!peers && log.find(Transport::network) != nullptr && (log.gpus_per_node == 1 || log.nodes == 1));
}

// Which of the pairs that reach each other directly have NVLink in the matrix. Two GPUs of one number are in containers that
// count each its own, from 0.
std::optional<NvlinkAnswer> find_pairs(const NcclLog& log, const TopoMatrix& matrix) {
  int over_nvlink = 0, others = 0;
  for (const LoggedPeers& peers : log.peers) {
    if (peers.from >= matrix.gpus || peers.to >= matrix.gpus || peers.from == peers.to) return std::nullopt;
    ++(matrix.cells[peers.from][peers.to].starts_with("NV") ? over_nvlink : others);
  }
  if (over_nvlink + others == 0) return std::nullopt;
  if (over_nvlink == 0)
    return NvlinkAnswer{
        has_nvlink(matrix) ? Answered::yes : Answered::no, Answered::no,
        "none of the pairs of GPUs that NCCL connects has NVLink in the matrix: they talk over PCIe"};
  return NvlinkAnswer{
      Answered::yes, Answered::yes,
      fmt::format("NCCL connects GPUs by P2P, and {} of those pairs have NVLink in the matrix",
                  others == 0 ? "all" : fmt::format("{} of {}", over_nvlink, over_nvlink + others))};
}

NvlinkAnswer answer_from_peers(const NcclLog& log, Answered present, const TopoMatrix* matrix) {
  if (matrix != nullptr && all_nvlinked(*matrix))
    return {Answered::yes, Answered::yes, "every two GPUs have NVLink, and NCCL connects them by P2P"};
  if (matrix != nullptr)
    if (const auto answer = find_pairs(log, *matrix)) return *answer;
  if (says_nvlink(log))
    return {
        Answered::yes, Answered::yes,
        "NCCL's own graph, chunk size or number of channels is the one it uses over NVLink, and peers are "
        "connected by P2P"};
  if (says_pcie(log))
    return {present, Answered::no,
            "GPUs reach each other directly, and the way that NCCL took is PCIe, not NVLink"};
  return {present, Answered::unknown,
          "the log says P2P, which is NVLink or PCIe: set NCCL_DEBUG_SUBSYS=INIT,GRAPH to see which, or give "
          "nvidia-smi topo -m"};
}

}  // namespace

bool says_nvlink(const NcclLog& log) {
  return has_path(log.path_types) || has_path(log.gpu_paths) || telling_chunk(log) == kNvlinkChunk ||
         log.nvls == true || has_channels_of_nvlink(log) || log.find(Transport::nvlink_network) != nullptr;
}

NvlinkAnswer answer_from_log(const NcclLog& log, Answered known, const TopoMatrix* matrix) {
  if (log.rccl) return {Answered::no, Answered::no, "this is RCCL: AMD's GPUs have xGMI, not NVLink"};
  const Answered present = present_in(log, known);
  if (log.find(Transport::nvlink_network) != nullptr)
    return {Answered::yes, Answered::yes, "NCCL connects GPUs of different nodes by NVLink (MNNVL)"};
  if (log.find(Transport::p2p) != nullptr) return answer_from_peers(log, present, matrix);
  if (log.find(Transport::shared_memory) != nullptr)
    return {present, Answered::no, "NCCL connects the GPUs of a node through host memory (SHM)"};
  if (is_alone(log))
    return {present, Answered::no,
            log.ranks == 1 ? "one rank has nobody to talk to" : "these GPUs talk over the network alone"};
  return {present, Answered::unknown, "no connection between GPUs of one node is in the log"};
}

}  // namespace gradwire
