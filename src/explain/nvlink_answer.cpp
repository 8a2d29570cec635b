// Is there NVLink, and is it used? `via P2P` alone proves nothing: peer access over PCIe prints the same.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "explain/log_words.h"
#include "explain/script_words.h"
#include "topo/gpu.h"

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

bool says_nvlink(const NcclLog& log) {
  return has_path(log.path_types) || has_path(log.gpu_paths) || telling_chunk(log) == kNvlinkChunk ||
         log.nvls == true || has_channels_of_nvlink(log) || log.find(Transport::nvlink_network) != nullptr;
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

struct SeenOnMachine {
  NvlinkAnswer answer;
  std::optional<Answered> stated;      // of a machine that was named, where no report shows it
  const TopoMatrix* matrix = nullptr;  // of several GPUs
};

// `nvidia-smi -L`, or `nvlink -s` of cards without a link: the same lines. Some makes have no connector for one.
NvlinkAnswer answer_from_names(const NvlinkReport& report) {
  const bool none = std::all_of(report.gpus.begin(), report.gpus.end(), [](const NvlinkReport::Gpu& gpu) {
    const auto make = find_gpu_by_name(gpu.name);
    return make && make->nvlink_links == 0;
  });
  if (none)
    return {Answered::no, Answered::no,
            "no GPU of this list has a connector for NVLink: " + report.gpus[0].name};
  return {Answered::unknown, Answered::unknown,
          "the list has the names of GPUs alone, as nvidia-smi -L has, and nvlink -s where no link is: save "
          "nvidia-smi topo -m"};
}

SeenOnMachine seen_on_machine(const Gathered& files) {
  SeenOnMachine seen;
  seen.answer.why = "nothing that was given tells; save nvidia-smi topo -m and a log with NCCL_DEBUG=INFO";
  for (const MatrixReport& report : files.matrices) {
    if (report.matrix.gpus < 2) continue;
    seen.matrix = &report.matrix;
    seen.answer.present = has_nvlink(report.matrix) ? Answered::yes : Answered::no;
    seen.answer.why = seen.answer.present == Answered::yes
                          ? "the matrix shows NVLink; whether NCCL uses it, a log with NCCL_DEBUG=INFO tells"
                          : "the matrix shows no NVLink between any two GPUs";
  }
  int active = 0, gpus = 0;
  for (const NvlinkReport& report : files.nvlinks) {
    if (report.names_alone && seen.matrix == nullptr) seen.answer = answer_from_names(report);
    for (const auto& gpu : report.gpus) {
      active += gpu.active;
      gpus += !report.names_alone;
    }
  }
  if (active > 0 && seen.matrix == nullptr)
    seen.answer = {Answered::yes, Answered::unknown,
                   "NVLinks are active; whether NCCL uses them, a log with NCCL_DEBUG=INFO tells"};
  if (active == 0 && gpus > 0 && seen.answer.present == Answered::unknown)
    seen.answer = {Answered::no, Answered::no, "no NVLink of these GPUs is active"};
  return seen;
}

// By the names of its GPUs, or by the runtime that launched its kernels: early ROCm names none.
bool is_of_amd(const Profile& profile) {
  const auto any_begins = [](const std::vector<std::string>& names, std::string_view start) {
    return std::any_of(names.begin(), names.end(), [&](const auto& name) { return name.starts_with(start); });
  };
  return any_begins(profile.gpus, "AMD") || any_begins(profile.names, "hipLaunch") ||
         any_begins(profile.names, "hipExtLaunch");
}

// What is stated of the machine counts where no report shows it; that it has none, a log may still know better.
void take_stated(const CaseFile& given, SeenOnMachine& seen) {
  if (seen.answer.present != Answered::unknown || !given.machine || given.machine->gpus.size() < 2) return;
  const bool has = is_nvlinked(*given.machine);
  seen.stated = has ? Answered::yes : Answered::no;
  seen.answer.why = fmt::format("{} has {}; whether NCCL uses {}, a log with NCCL_DEBUG=INFO tells",
                                given.machine->name, has ? "NVLink" : "no NVLink", has ? "it" : "any");
}

// Where no log is there: what a trace alone tells.
NvlinkAnswer answer_from_traces(const std::vector<Profile>& profiles, NvlinkAnswer known) {
  if (std::any_of(profiles.begin(), profiles.end(), is_of_amd))
    return {Answered::no, Answered::no, "the trace is of AMD's GPUs, which have xGMI, not NVLink"};
  const auto alone = [](const Profile& profile) { return profile.world == 1; };
  if (!profiles.empty() && std::all_of(profiles.begin(), profiles.end(), alone))
    return {known.present, Answered::no, "one rank has nobody to talk to"};
  return known;
}

// "NCCL_P2P_DISABLE=1 (env.txt)": what keeps NCCL from all links between GPUs; empty: nothing that was given.
std::string what_turns_peers_off(const Gathered& files) {
  const auto words = [](const std::string& file, const std::map<std::string, SaidInLog>& variables) {
    const bool disabled = is_on(find_variable(variables, "NCCL_P2P_DISABLE"));
    const char* const name = disabled ? "NCCL_P2P_DISABLE" : "NCCL_P2P_LEVEL";
    return turns_peers_off(variables)
               ? fmt::format("{}={} ({})", name, find_variable(variables, name)->text, short_name(file))
               : std::string();
  };
  for (const NcclLog& log : files.logs)
    if (auto said = words(log.file, log.variables); !said.empty()) return said;
  for (const EnvironmentFile& file : files.environments)
    if (auto said = words(file.file, file.variables); !said.empty()) return said;
  for (const ScriptFile& script : files.scripts)
    if (auto said = words(script.file, settings_in(script)); !said.empty()) return said;
  return {};
}

// What a run was told goes for what it does, where nothing shows that.
NvlinkAnswer answer_from_variables(const Gathered& files, NvlinkAnswer known) {
  const std::string said = known.used == Answered::unknown ? what_turns_peers_off(files) : std::string();
  if (said.empty()) return known;
  return {known.present, Answered::no,
          said + " keeps GPUs from reaching each other, so NCCL uses no NVLink, whether there is any or not"};
}

// XGMI joins AMD's GPUs as NVLink does NVIDIA's. A cell may also be N/A.
std::string joined_by(const LinkTypes& types) {
  const int pairs = types.gpus * (types.gpus - 1) / 2;
  if (types.xgmi + types.pcie == 0) return "what joins them the report does not say";
  if (types.xgmi == pairs) return "they are joined by xGMI, every two of them";
  if (types.pcie == pairs) return "they are joined by PCIe alone";
  if (types.xgmi + types.pcie == pairs) return "they are joined by xGMI in part, the other pairs by PCIe";
  return fmt::format(
      "of {} pairs {} are joined by xGMI and {} by PCIe; of the others the report does not say", pairs,
      types.xgmi, types.pcie);
}

NvlinkAnswer answer_from_link_types(const LinkTypes& types) {
  if (types.gpus == 1)
    return {Answered::no, Answered::no, "this is one GPU of AMD, which has no NVLink, and no other is seen"};
  return {Answered::no, Answered::no,
          fmt::format("these are {} of AMD, which have no NVLink; {}", counted_gpus(types.gpus),
                      joined_by(types))};
}

NvlinkAnswer answer_from_files(const CaseFile& given) {
  if (!given.files.link_types.empty()) return answer_from_link_types(given.files.link_types.front());
  SeenOnMachine seen = seen_on_machine(given.files);
  if (seen.answer.present == Answered::no) return {Answered::no, Answered::no, seen.answer.why};
  take_stated(given, seen);
  seen.answer.present = seen.stated.value_or(seen.answer.present);
  const auto run = find_joined(given.files.logs);
  const auto tells = [](const NcclLog& log) {
    return !log.transports.empty() || says_nvlink(log) || !log.gpu_paths.empty() || log.rccl ||
           log.ranks == 1;
  };
  if (run && tells(*run)) return answer_from_log(*run, seen.answer.present, seen.matrix);
  NvlinkAnswer answer = answer_from_traces(given.files.profiles, seen.answer);
  for (const NcclLog& log : given.files.logs) {
    if (!tells(log)) continue;
    answer = answer_from_log(log, seen.answer.present, seen.matrix);
    if (answer.used != Answered::unknown) return answer;
  }
  return answer;
}

}  // namespace

NvlinkAnswer answer_nvlink(const CaseFile& given) {
  if (const auto counted = find_counted(given)) return *counted;
  if (!given.files.no_gpu.empty()) return {Answered::no, Answered::no, given.files.no_gpu};
  return answer_from_signs(given, answer_from_variables(given.files, answer_from_files(given)));
}

}  // namespace gradwire
