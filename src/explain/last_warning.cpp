// What NCCL warned of before it gave up, where nobody knows the words: the part of NCCL that said it tells where to look.
#include <fmt/format.h>

#include <algorithm>

#include "explain/log_words.h"
#include "import/known_failures.h"

namespace gradwire {
namespace {

struct PartOfNccl {
  std::string_view sign;  // of the warning, with the source before it
  Meaning meaning;
};

constexpr Meaning kTopology = {
    "R19", "NCCL can't read how this machine is built: WSL, a virtual machine or a sandbox hides it",
    "update NCCL (pip install -U nvidia-nccl-cu12); /sys must be visible in the container; NCCL_TOPO_FILE "
    "with the provider's XML"};
constexpr Meaning kCards = {
    "R37", "the part of NCCL that drives InfiniBand and RoCE cards failed",
    "ibv_devinfo and show_gids where the process runs; NCCL_IB_HCA, NCCL_IB_GID_INDEX; NCCL_IB_DISABLE=1 "
    "tells whether the rest works"};
constexpr Meaning kPlugin = {
    "R37", "the plugin for the network failed",
    "its version must fit NCCL's and the card's driver; NCCL_NET_PLUGIN=none tells whether the rest works"};
constexpr Meaning kSockets = {
    "R36", "the sockets between ranks failed",
    "NCCL_SOCKET_IFNAME names the interface that all nodes share; docker run --network=host; open the "
    "firewall between nodes"};
constexpr Meaning kSharedMemory = {"R18", "the shared memory between processes failed",
                                   "df -h /dev/shm; docker run --shm-size=1g, or --ipc=host"};
constexpr Meaning kPeers = {"R12", "peer access between GPUs failed",
                            "NCCL_P2P_DISABLE=1 tells whether the rest works; nvidia-smi topo -p2p r"};
constexpr Meaning kMulticast = {"R20", "NVLink SHARP failed",
                                "NCCL_NVLS_ENABLE=0 tells whether the rest works; the fabric manager's log"};

constexpr PartOfNccl kParts[] = {
    {"xml.cc", kTopology},   {"topo.", kTopology},    {"net_ib", kCards},    {"ibvwrap", kCards},
    {"NET/IB", kCards},      {"socketTry", kSockets}, {"socket.", kSockets}, {"net_socket", kSockets},
    {"bootstrap", kSockets}, {"ipcsocket", kSockets}, {"NET/", kPlugin},     {"shm", kSharedMemory},
    {"p2p.cc", kPeers},      {"nvls.cc", kMulticast},
};

bool is_at_info(const NcclLog& log) {
  return !log.network.text.empty() || !log.addresses.empty() || !log.transports.empty();
}

// What NCCL gave up on; else the last that is not known and was said before anybody told of the death; else what PyTorch repeats.
const SaidInLog* find_last_warning(const NcclLog& log) {
  if (log.gave_up) return &*log.gave_up;
  const auto last = std::find_if(log.warnings.rbegin(), log.warnings.rend(), [&](const SaidInLog& said) {
    return find_known_failure(said.text) == nullptr &&
           (log.failures.empty() || said.line < log.failures.front().line);
  });
  if (last != log.warnings.rend()) return &*last;
  return log.last_error.times > 0 ? &log.last_error : nullptr;
}

// A log of everything shows that NCCL gave up on it; one of warnings alone can't.
bool is_the_reason(const NcclLog& log) { return log.gave_up || !is_at_info(log); }

bool asks_for_logs(const Finding& finding) {
  return finding.fix.find("give all the logs") != std::string::npos;
}

// Of a finding that says no more than that NCCL failed.
void blame_last_warning(const NcclLog& log, Finding& finding) {
  const SaidInLog* const said = find_last_warning(log);
  if (said == nullptr) return;
  const auto part = std::find_if(std::begin(kParts), std::end(kParts), [&](const PartOfNccl& one) {
    return said->text.find(one.sign) != std::string::npos;
  });
  finding.evidence = line_of_file(log.file, said->line, said->text);
  if (part == std::end(kParts) || !is_the_reason(log)) {
    finding.what = "NCCL failed after it warned of: " + said->text;
    finding.fix = "its words, looked up in github.com/NVIDIA/nccl/issues; NCCL's newest version";
    return;
  }
  finding.rule = part->meaning.rule;
  finding.severity = Severity::high;
  finding.what = fmt::format("{}: {}", part->meaning.what, said->text);
  finding.fix = part->meaning.fix;
}

// "172.17.0.2": what Docker gives a container that has its own network.
bool is_behind_docker(const NcclLog& log) {
  return std::any_of(log.addresses.begin(), log.addresses.end(),
                     [](const auto& address) { return address.starts_with("172.17."); });
}

}  // namespace

void suit_to_log(const NcclLog& log, Finding& finding) {
  if (asks_for_logs(finding)) blame_last_warning(log, finding);
  if (asks_for_logs(finding) && is_at_info(log))
    finding.fix = "give the logs of all other ranks and nodes too: the first that failed says why";
  const bool of_interface = finding.fix.find("NCCL_SOCKET_IFNAME") != std::string::npos;
  if (finding.rule == "R36" && of_interface && is_behind_docker(log))
    finding.fix =
        "docker run --network=host: 172.17.* is the container's own network, which no other node has";
}

std::optional<Finding> find_failed_start(const NcclLog& log) {
  const bool threw = log.tracebacks > 0 && log.error.times == 0 && find_last_warning(log) != nullptr;
  if ((!log.failed_start || !log.gave_up) && !threw) return std::nullopt;
  Finding finding;
  finding.rule = "R00";
  finding.sure = Certainty::likely;
  finding.ends_the_run = true;
  finding.fix = "give all the logs";
  suit_to_log(log, finding);
  return finding;
}

}  // namespace gradwire
