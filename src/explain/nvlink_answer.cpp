// Is there NVLink, and is it used? `via P2P` alone proves nothing: peer access over PCIe prints the same.
#include <algorithm>

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

NvlinkAnswer answer_from_log(const NcclLog& log, Answered present) {
  if (log.rccl) return {Answered::no, Answered::no, "this is RCCL: AMD's GPUs have xGMI, not NVLink"};
  if (through_host_memory_alone(log))
    return {present, Answered::no, "NCCL connects the GPUs of a node through host memory (SHM)"};
  if (says_nvlink(log) && log.find(Transport::p2p) != nullptr)
    return {Answered::yes, Answered::yes,
            "NCCL's own graph or chunk size is the one it uses over NVLink, and peers are connected by P2P"};
  if (log.find(Transport::p2p) == nullptr)
    return {says_nvlink(log) ? Answered::yes : present, Answered::unknown,
            "no connection between GPUs of one node is in the log"};
  return {present, Answered::unknown,
          "the log says P2P, which is NVLink or PCIe: set NCCL_DEBUG_SUBSYS=INIT,GRAPH to see which, or give "
          "nvidia-smi topo -m"};
}

}  // namespace

NvlinkAnswer answer_nvlink(const CaseFile& given) {
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
    const NvlinkAnswer said = answer_from_log(log, answer.present);
    if (said.used == Answered::unknown && everywhere && log.find(Transport::p2p) != nullptr)
      return {Answered::yes, Answered::yes, "every two GPUs have NVLink, and NCCL connects them by P2P"};
    if (said.used != Answered::unknown) return said;
    answer = said;
  }
  return answer;
}

}  // namespace gradwire
