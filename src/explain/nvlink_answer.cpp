// Is there NVLink, and is it used? `via P2P` alone proves nothing: peer access over PCIe prints the same.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "explain/log_words.h"
#include "explain/script_words.h"
#include "topo/gpu.h"

namespace gradwire {
namespace {

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
  bool of_two_machines = false;        // reports contradict each other
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
  const MatrixReport *with = nullptr, *without = nullptr;
  for (const MatrixReport& report : files.matrices) {
    if (report.matrix.gpus < 2) continue;
    (has_nvlink(report.matrix) ? with : without) = &report;
    seen.matrix = &report.matrix;
    seen.answer.present = has_nvlink(report.matrix) ? Answered::yes : Answered::no;
    seen.answer.why = seen.answer.present == Answered::yes
                          ? "the matrix shows NVLink; whether NCCL uses it, a log with NCCL_DEBUG=INFO tells"
                          : "the matrix shows no NVLink between any two GPUs";
  }
  seen.of_two_machines = with != nullptr && without != nullptr;
  if (seen.of_two_machines)
    seen.answer = {
        Answered::unknown, Answered::unknown,
        fmt::format("{} shows NVLink and {} none: these are two machines, give that of the run alone",
                    short_name(with->file), short_name(without->file))};
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
  if (seen.of_two_machines) return seen.answer;
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
