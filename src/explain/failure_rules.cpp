// Why a run died, by what NCCL and PyTorch printed, and what RCCL warns of. What each was learnt from stands in
// docs/explain.md.
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <map>
#include <set>

#include "base/text.h"
#include "explain/case_file.h"

namespace gradwire {
namespace {

struct KnownFailure {
  std::string_view sign;  // in small letters; a star stands for anything
  const char *rule, *what, *fix;
};

constexpr const char* kSmallShm = "shared memory is too small for NCCL: a container has 64 MB of it";
constexpr const char* kMoreShm = "docker run --shm-size=1g ...  # or --ipc=host";
constexpr const char* kBrokenLink = "the InfiniBand or RoCE connection to a peer broke (timeout)";
constexpr const char* kMendLink = "ibv_devinfo; NCCL_IB_GID_INDEX=3 for RoCE v2; check cables and switches";
constexpr const char* kNoWay = "ranks can't reach each other over the network interface that NCCL took";
constexpr const char* kNameInterface =
    "NCCL_SOCKET_IFNAME=eth0  # the interface that all nodes share; ip route; open the firewall between "
    "nodes";

constexpr const char* kNoReason = "NCCL failed, and what is here does not say why";
constexpr const char* kAskAll = "NCCL_DEBUG=INFO on every node, and give all the logs to gradwire doctor";

// What died of it, and why, by what was printed; the first that fits.
constexpr std::array<KnownFailure, 23> kFailures = {{
    {"duplicate gpu detected", "R23", "two ranks use the same GPU",
     "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))  # before anything else"},
    {"no space left on device", "R18", kSmallShm, kMoreShm},
    {"failed to extend /dev/shm", "R18", kSmallShm, kMoreShm},
    {"while creating shared memory segment", "R18", kSmallShm, kMoreShm},
    {"out of shared memory", "R18",
     "shared memory is too small for the loader's workers: a container has 64 MB of it", kMoreShm},
    {"system not yet initialized", "R20",
     "NVSwitch is not set up: the fabric manager does not run, or was restarted",
     "systemctl restart nvidia-fabricmanager  # its version must be the driver's"},
    {"out of memory", "R22",
     "a GPU's memory was full when NCCL wanted some: every rank may have allocated on GPU 0",
     "torch.cuda.set_device(local_rank) first; torch.load(..., map_location=device)"},
    {"nvls.cc*cuda failure", "R20",
     "NVLink SHARP can't be set up: the fabric manager was restarted while GPUs were in use, or is not well",
     "stop what uses the GPUs, restart nvidia-fabricmanager, nvidia-smi -r, or reboot; NCCL_NVLS_ENABLE=0 "
     "until then"},
    {"p2p is disabled between nvlink connected gpus", "R12",
     "GPUs with NVLink between them may not reach each other: a link, its bridge or the driver is not well",
     "nvidia-smi nvlink -s; nvidia-smi topo -p2p n  # reseat the bridge, reset the GPUs, update the driver"},
    {"peer access is not supported", "R12",
     "the driver says that GPUs may reach each other and then refuses it",
     "NCCL_P2P_DISABLE=1 until the driver or NCCL is updated; nvidia-smi topo -p2p r"},
    {"watchdog caught collective operation timeout", "R35",
     "a rank did not come to a collective that the others were in",
     "give gradwire analyze the flight recorder's dumps: TORCH_NCCL_TRACE_BUFFER_SIZE=2000 "
     "TORCH_NCCL_DUMP_ON_TIMEOUT=1"},
    {"collective mismatch", "R35", "ranks call different collectives, or not as many",
     "TORCH_DISTRIBUTED_DEBUG=DETAIL names the first call that differs"},
    {"got completion with error 12", "R37", kBrokenLink, kMendLink},
    {"got completion from peer*status=12", "R37", kBrokenLink, kMendLink},
    {"no route to host", "R36", kNoWay, kNameInterface},
    {"connect*connection timed out", "R36", kNoWay, kNameInterface},
    {"connect to*failed", "R36", kNoWay, kNameInterface},
    {"no socket interface found", "R36", "NCCL_SOCKET_IFNAME names no interface of this machine",
     kNameInterface},
    {"cuda failure", "R00",
     "a call of CUDA failed inside NCCL; NCCL is seldom the cause, the call before it is",
     "CUDA_LAUNCH_BLOCKING=1 to find the first that fails"},
    {"unhandled cuda error", "R00",
     "a call of CUDA failed inside NCCL; NCCL is seldom the cause, the call before it is",
     "NCCL_DEBUG=INFO says which call; CUDA_LAUNCH_BLOCKING=1 finds the first that fails"},
    {"ncclsystemerror", "R00", kNoReason, kAskAll},
    {"ncclinternalerror", "R00", kNoReason, kAskAll},
    {"ncclremoteerror", "R00", "another rank died first, and what is here does not say of what", kAskAll},
}};

template <typename Number>
std::optional<Number> find_after(std::string_view text, std::string_view word) {
  const auto at = text.find(word);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digits = text.substr(at + word.size());
  return find_integer<Number>(digits.substr(0, digits.find_first_not_of("0123456789")));
}

bool fits(std::string_view sign, const std::string& text) {
  std::size_t at = 0;
  for (const auto part : split(sign, '*')) {
    at = text.find(part, at);
    if (at == std::string::npos) return false;
    at += part.size();
  }
  return true;
}

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

constexpr std::string_view kUnexplained = "R00", kHang = "R35";

// "[Rank 3] Watchdog caught collective operation timeout: WorkNCCL(SeqNum=4123, OpType=ALLREDUCE, ...": the rank by its
// call; the first that it says.
std::map<int, std::string> stuck_calls(const NcclLog& log) {
  std::map<int, std::string> calls;
  for (const SaidInLog& said : log.failures) {
    const auto rank = find_after<int>(said.text, "[Rank ");
    const auto sequence = find_after<long>(said.text, "SeqNum=");
    const auto operation = said.text.find("OpType=");
    if (!rank || !sequence || operation == std::string::npos) continue;
    const auto word = std::string_view(said.text).substr(operation + 7);
    calls.emplace(*rank, fmt::format("{} {}", word.substr(0, word.find_first_of(",) ")), *sequence));
  }
  return calls;
}

std::string rank_list(const std::vector<int>& ranks) {
  constexpr std::size_t kNamed = 6;
  std::vector<std::string> names;
  for (std::size_t i = 0; i < std::min(ranks.size(), kNamed); ++i) names.push_back(std::to_string(ranks[i]));
  if (ranks.size() > kNamed) names.emplace_back("...");
  return (ranks.size() == 1 ? "rank " : "ranks ") + join(names, ", ");
}

// Who waited in which call, where ranks said it as they died; nothing where fewer than two did.
std::optional<std::string> who_is_stuck(const NcclLog& log) {
  std::map<std::string, std::vector<int>> ranks;
  const auto calls = stuck_calls(log);
  for (const auto& [rank, call] : calls) ranks[call].push_back(rank);
  if (calls.size() < 2) return std::nullopt;
  if (ranks.size() == 1)
    return fmt::format("a rank did not come to {}, in which {} waited", ranks.begin()->first,
                       rank_list(ranks.begin()->second));
  std::vector<std::string> parts;
  for (const auto& [call, who] : ranks) parts.push_back(fmt::format("{} in {}", rank_list(who), call));
  return "ranks waited for each other in different collectives: " + join(parts, "; ");
}

std::vector<Finding> failures_in(const NcclLog& log) {
  std::set<std::string_view> told;
  std::vector<Finding> findings;
  for (const auto* list : {&log.warnings, &log.failures})
    for (const SaidInLog& said : *list) {
      const std::string text = in_small_letters(said.text);
      const auto known = std::find_if(kFailures.begin(), kFailures.end(),
                                      [&](const auto& failure) { return fits(failure.sign, text); });
      if (known == kFailures.end() || !told.insert(known->rule).second) continue;
      Finding finding;
      finding.rule = known->rule;
      finding.severity = known->rule == kUnexplained ? Severity::medium : Severity::high;
      finding.sure = finding.severity == Severity::high ? Certainty::certain : Certainty::likely;
      finding.what = known->what;
      if (finding.rule == kHang) finding.what = who_is_stuck(log).value_or(finding.what);
      finding.evidence = line_of_file(log.file, said.line, said.text);
      finding.fix = known->fix;
      findings.push_back(std::move(finding));
    }
  if (told.size() > 1)  // what is explained needs no word that it is not
    std::erase_if(findings, [](const Finding& finding) { return finding.rule == kUnexplained; });
  return findings;
}

// What RCCL warns of at every start; it need not be what holds this run up.
void hint_at_system(const NcclLog& log, std::vector<Finding>& hints) {
  struct Warned {
    const char *sign, *rule, *what, *fix;
  };
  constexpr Warned kWarned[] = {
      {"NUMA auto balancing enabled", "R21", "the kernel moves memory between sockets while the run uses it",
       "sysctl kernel.numa_balancing=0"},
      {"Missing \"iommu=pt\"", "R14", "the kernel was not told to let devices pass the IOMMU",
       "iommu=pt on the kernel's command line"}};
  for (const Warned& one : kWarned)
    for (const SaidInLog& said : log.warnings) {
      if (said.text.find(one.sign) == std::string::npos) continue;
      Finding hint;
      hint.rule = one.rule;
      hint.severity = Severity::low;
      hint.sure = Certainty::likely;
      hint.what = one.what;
      hint.evidence = line_of_file(log.file, said.line, said.text);
      hint.fix = one.fix;
      hints.push_back(std::move(hint));
      break;
    }
}

}  // namespace

void add_failure_findings(const CaseFile& given, Diagnosis& diagnosis) {
  for (const NcclLog& log : given.files.logs) {
    for (Finding& finding : failures_in(log)) diagnosis.findings.push_back(std::move(finding));
    hint_at_system(log, diagnosis.hints);
  }
}

}  // namespace gradwire
