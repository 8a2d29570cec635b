// Is there NVLink, and is it used? `via P2P` alone proves nothing: peer access over PCIe prints the same.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "explain/case_file.h"

namespace gradwire {
namespace {

constexpr int kNvlinkChunk = 524288;  // what NCCL sets where every pair of a node has NVLink

bool through_host_memory_alone(const NcclLog& log) {
  return log.find(Transport::shared_memory) != nullptr && log.find(Transport::p2p) == nullptr;
}

bool says_nvlink(const NcclLog& log) {
  const bool graph = std::any_of(log.path_types.begin(), log.path_types.end(),
                                 [](const auto& type) { return type.starts_with("NVL"); });
  return graph || log.p2p_chunk == kNvlinkChunk || log.nvls == true ||
         log.find(Transport::nvlink_network) != nullptr;
}

// "PHB/PIX": the way inside a node, then that to the network. A graph that NCCL made for GPUs with NVLink says NVL or NVB.
bool says_pcie(const NcclLog& log) {
  const auto over_pcie = [](const std::string& type) {
    return type.starts_with("PIX") || type.starts_with("PXB") || type.starts_with("PHB") ||
           type.starts_with("SYS");
  };
  return !log.path_types.empty() && std::all_of(log.path_types.begin(), log.path_types.end(), over_pcie);
}

NvlinkAnswer answer_from_log(const NcclLog& log, Answered present) {
  if (log.rccl) return {Answered::no, Answered::no, "this is RCCL: AMD's GPUs have xGMI, not NVLink"};
  if (through_host_memory_alone(log))
    return {present, Answered::no, "NCCL connects the GPUs of a node through host memory (SHM)"};
  if (says_nvlink(log) && log.find(Transport::p2p) != nullptr)
    return {Answered::yes, Answered::yes,
            "NCCL's own graph or chunk size is the one it uses over NVLink, and peers are connected by P2P"};
  if (log.find(Transport::nvlink_network) != nullptr)
    return {Answered::yes, Answered::yes, "NCCL connects GPUs of different nodes by NVLink (MNNVL)"};
  if (says_pcie(log) && log.find(Transport::p2p) != nullptr)
    return {present, Answered::no,
            "GPUs reach each other directly, and the way that NCCL's graph took is PCIe, not NVLink"};
  if (log.find(Transport::p2p) == nullptr)
    return {says_nvlink(log) ? Answered::yes : present, Answered::unknown,
            "no connection between GPUs of one node is in the log"};
  return {present, Answered::unknown,
          "the log says P2P, which is NVLink or PCIe: set NCCL_DEBUG_SUBSYS=INIT,GRAPH to see which, or give "
          "nvidia-smi topo -m"};
}

// What DistributedDataParallel of a watched run has to move at least: each gradient once a step.
double gradient_bytes(const std::vector<WatchNotes>& notes) {
  double most = 0;
  for (const WatchNotes& rank : notes)
    if (rank.ddp && rank.world > 1)
      most = std::max(most, static_cast<double>(rank.ddp->parameters) * rank.steps);
  return most;
}

// NVML's counters are the proof. Where nothing is known of what there was to move, what a program moves in passing
// (connecting, a barrier) is no use of a link.
std::optional<NvlinkAnswer> find_counted(const CaseFile& given) {
  constexpr double kInPassing = 1 << 20, kShare = 0.1;
  for (const NvlinkTraffic& traffic : given.files.nvlink_traffic) {
    if (traffic.gpus.empty()) continue;
    const double moved = static_cast<double>(traffic.most()), asked = gradient_bytes(given.files.notes);
    const auto words = fmt::format("NVML counted {} over NVLink on the busiest GPU during the run",
                                   format_bytes(traffic.most()));
    const auto gradients =
        asked > 0 ? fmt::format(", and its gradients are {} in all", format_bytes(static_cast<Bytes>(asked)))
                  : std::string();
    const bool used = moved > kInPassing && moved > asked * kShare;
    return NvlinkAnswer{Answered::yes, used ? Answered::yes : Answered::no, words + gradients};
  }
  return std::nullopt;
}

}  // namespace

NvlinkAnswer answer_nvlink(const CaseFile& given) {
  if (const auto counted = find_counted(given)) return *counted;
  NvlinkAnswer answer{Answered::unknown, Answered::unknown,
                      "nothing that was given tells; save nvidia-smi topo -m and a log with NCCL_DEBUG=INFO"};
  bool everywhere = false;
  for (const MatrixReport& report : given.files.matrices) {
    if (report.matrix.gpus < 2) continue;
    answer.present = has_nvlink(report.matrix) ? Answered::yes : Answered::no;
    everywhere = all_nvlinked(report.matrix);
    answer.why = answer.present == Answered::yes
                     ? "the matrix shows NVLink; whether NCCL uses it, a log with NCCL_DEBUG=INFO tells"
                     : "the matrix shows no NVLink between any two GPUs";
  }
  for (const NvlinkReport& report : given.files.nvlinks)
    for (const auto& gpu : report.gpus)
      if (gpu.active > 0) answer.present = Answered::yes;
  if (answer.present == Answered::no) {
    answer.used = Answered::no;
    return answer;
  }
  for (const NcclLog& log : given.files.logs) {
    if (log.transports.empty() && !says_nvlink(log) && !log.rccl) continue;
    NvlinkAnswer said = answer_from_log(log, answer.present);
    if (said.used == Answered::unknown && everywhere && log.find(Transport::p2p) != nullptr)
      return {Answered::yes, Answered::yes, "every two GPUs have NVLink, and NCCL connects them by P2P"};
    if (said.used != Answered::unknown) return said;
    answer = std::move(said);
  }
  return answer;
}

}  // namespace gradwire
