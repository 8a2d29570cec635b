// What a log of NCCL, or an environment, says is wrong. Each rule is a function; what it was learnt from
// stands in docs/explain.md.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "explain/case_file.h"
#include "explain/log_words.h"

namespace gradwire {
namespace {

// Levels up to which peers are let through; PIX and beyond stop PCIe peers that are farther, never NVLink.
bool forbids_all_peers(const SaidInLog* level) {
  return level != nullptr && (level->text == "LOC" || level->text == "0");
}

bool is_before_2_6(const std::string& version) {
  const auto parts = split(version, '.');
  return parts.size() > 1 && find_integer<int>(parts[0]) == 2 && find_integer<int>(parts[1]).value_or(99) < 6;
}

// NCCL before 2.6 knows levels by number alone and takes any word for 0.
Finding misread_level(const SetVariables& given, const SaidInLog& level) {
  Finding finding;
  finding.rule = "R07";
  finding.severity = Severity::high;
  finding.what = fmt::format(
      "NCCL_P2P_LEVEL={} is a word that NCCL knows from 2.6 on; this version reads 0, and keeps GPUs from "
      "reaching each other",
      given.misread);
  finding.evidence = place(given.file, level, "NCCL_P2P_LEVEL set to " + level.text);
  finding.fix = "unset NCCL_P2P_LEVEL, or NCCL 2.6 and later";
  return finding;
}

void check_p2p_variables(const SetVariables& given, std::vector<Finding>& findings) {
  const SaidInLog* disable = find_variable(given.of, "NCCL_P2P_DISABLE");
  const SaidInLog* level = find_variable(given.of, "NCCL_P2P_LEVEL");
  const bool disabled = is_on(disable);
  if (!turns_peers_off(given.of) || given.alone) return;
  if (!disabled && !given.misread.empty()) return findings.push_back(misread_level(given, *level));
  const std::string name = disabled ? "NCCL_P2P_DISABLE" : "NCCL_P2P_LEVEL";
  const SaidInLog& said = disabled ? *disable : *level;
  Finding finding;
  finding.rule = "R06";
  finding.severity = Severity::high;
  finding.what = fmt::format(
      "{}={} keeps GPUs from reaching each other: neither {} nor PCIe peer access is used, all traffic "
      "inside a node "
      "goes through host memory",
      name, said.text, given.link);
  finding.apart = Apart::turned_off;
  finding.evidence = place(given.file, said, fmt::format("{} set to {}", name, said.text));
  finding.fix =
      given.in_code
          ? "remove the line"
          : fmt::format("unset {}  # if it was set against hangs, mend those instead: ACS, IOMMU, driver",
                        name);
  findings.push_back(std::move(finding));
}

// What narrows NCCL without turning anything off.
void check_narrowing_variables(const SetVariables& given, Diagnosis& diagnosis) {
  const SaidInLog* channels = find_variable(given.of, "NCCL_MAX_NCHANNELS");
  if (channels != nullptr && find_integer<int>(channels->text).value_or(99) <= 2) {
    Finding finding;
    finding.rule = "R06";
    finding.apart = Apart::narrowed;
    finding.what = fmt::format("NCCL_MAX_NCHANNELS={} leaves most links of a GPU unused", channels->text);
    finding.evidence = place(given.file, *channels, "NCCL_MAX_NCHANNELS set to " + channels->text);
    finding.fix = "unset NCCL_MAX_NCHANNELS";
    diagnosis.findings.push_back(std::move(finding));
  }
  for (const char* name : {"NCCL_ALGO", "NCCL_PROTO", "NCCL_NTHREADS", "NCCL_BUFFSIZE"})
    if (const SaidInLog* said = find_variable(given.of, name)) {
      Finding hint;
      hint.rule = "R40";
      hint.severity = Severity::low;
      hint.sure = Certainty::likely;
      hint.what =
          fmt::format("{}={} takes a choice from NCCL that it makes by size and topology", name, said->text);
      hint.evidence = place(given.file, *said, fmt::format("{} set to {}", name, said->text));
      hint.fix = fmt::format("unset {}  # unless measured to be faster", name);
      diagnosis.hints.push_back(std::move(hint));
    }
}

void check_blocked_peers(const NcclLog& log, std::vector<Finding>& findings) {
  if (!blocks_peers(log)) return;
  Finding finding;
  finding.rule = "R12";
  finding.apart = Apart::refused;
  finding.severity = Severity::high;
  finding.what =
      "GPUs that are connected may not reach each other: the driver, a virtual machine or a container turned "
      "peer access off, so "
      "traffic goes through host memory";
  finding.evidence = place(log.file, *log.blocked_p2p,
                           fmt::format("{} ({} such lines)", log.blocked_p2p->text, log.blocked_p2p->times));
  finding.fix =
      "nvidia-smi topo -p2p r  # shows who may; GeForce cards without NVLink may not at all; else update the "
      "driver, "
      "give containers --ipc=host and all GPUs";
  findings.push_back(std::move(finding));
}

// All ranks of a host think theirs is device 0, of different cards: each process was given one GPU.
bool sees_one_gpu_each(const std::vector<LoggedRank>& places) {
  std::map<std::string, std::set<std::string>> cards;
  for (const LoggedRank& place : places) {
    if (place.device.value_or(0) != 0) return false;
    cards[place.host].insert(place.bus);
  }
  return std::any_of(cards.begin(), cards.end(), [](const auto& host) { return host.second.size() > 1; });
}

const char* way_to_peers(const NcclLog& log) {
  if (log.rccl)
    return "rocm-smi --showtopo  # which pairs have XGMI: take those GPUs (HIP_VISIBLE_DEVICES); over PCIe "
           "peers need large "
           "BARs in the BIOS and iommu=pt";
  return "nvidia-smi topo -m; nvidia-smi topo -p2p r  # which pairs have NVLink or peer access: take those "
         "GPUs "
         "(CUDA_VISIBLE_DEVICES), or fit a bridge";
}

Finding shared_memory_finding(const NcclLog& log, const LoggedTransport& shm) {
  const bool some = log.find(Transport::p2p) != nullptr;
  Finding finding;
  finding.rule = "R05";
  finding.apart = Apart::seen;
  finding.severity = some ? Severity::medium : Severity::high;
  finding.what = fmt::format(
      fmt::runtime(
          some ? "some pairs of GPUs of one node talk through host memory (SHM): these use neither {} nor "
                 "PCIe peer access, and a ring runs at their rate"
               : "GPUs of one node talk through host memory (SHM), not directly: {} is not used, nor PCIe "
                 "peer access"),
      link_of(log));
  finding.evidence = place(log, shm);
  finding.fix = way_to_peers(log);
  return finding;
}

// By --gpus-per-task, or a container each.
void blame_hidden_gpus(const NcclLog& log, Finding& finding) {
  finding.rule = "R17";
  finding.apart = Apart::hidden;
  finding.sure = Certainty::likely;
  finding.what = fmt::format(
      "each process sees a single GPU, so NCCL can't use {} or peer access between them and goes through "
      "host memory "
      "(SHM)",
      link_of(log));
  finding.fix = fmt::format(
      "give every process all GPUs of its node: srun --gpus-per-node instead of --gpus-per-task; docker {} "
      "--ipc=host",
      log.rccl ? "--device /dev/kfd --device /dev/dri" : "--gpus all");
}

void check_shared_memory(const NcclLog& log, const NcclLog& run, Diagnosis& diagnosis) {
  const LoggedTransport* shm = log.find(Transport::shared_memory);
  if (shm == nullptr) return;
  Finding finding = shared_memory_finding(log, *shm);
  if (const SaidInLog* level = find_variable(log.variables, "NCCL_P2P_LEVEL"))
    finding.fix += fmt::format("; NCCL_P2P_LEVEL={} is set, which keeps farther pairs apart", level->text);
  if (sees_one_gpu_each(run.places)) blame_hidden_gpus(log, finding);
  diagnosis.findings.push_back(std::move(finding));
}

// By what a launcher or a scheduler sets.
bool is_of_one_node(const std::map<std::string, SaidInLog>& variables) {
  const auto text_of = [&](const char* name) {
    const SaidInLog* said = find_variable(variables, name);
    return said == nullptr ? std::string() : said->text;
  };
  const auto equal = [&](const char* all, const char* here) {
    return !text_of(all).empty() && text_of(all) == text_of(here);
  };
  return text_of("SLURM_NNODES") == "1" || text_of("PET_NNODES") == "1" ||
         equal("WORLD_SIZE", "LOCAL_WORLD_SIZE") ||
         equal("OMPI_COMM_WORLD_SIZE", "OMPI_COMM_WORLD_LOCAL_SIZE");
}

Reach reach_of(const NcclLog& run) {
  return run.spans_nodes() ? Reach::several_nodes : run.is_of_one_node() ? Reach::one_node : Reach::unknown;
}

// By a run's logs, else by what its environment says.
Reach reach_of(const std::map<std::string, SaidInLog>& variables, const std::vector<NcclLog>& logs) {
  if (const auto run = find_joined(logs); run && reach_of(*run) != Reach::unknown) return reach_of(*run);
  if (is_of_one_node(variables)) return Reach::one_node;
  const auto count_of = [&](const char* name) {
    const SaidInLog* said = find_variable(variables, name);
    return said == nullptr ? 0 : find_integer<int>(said->text).value_or(0);
  };
  const bool several =
      count_of("SLURM_NNODES") > 1 || count_of("PET_NNODES") > 1 ||
      (count_of("LOCAL_WORLD_SIZE") > 0 && count_of("WORLD_SIZE") > count_of("LOCAL_WORLD_SIZE"));
  return several ? Reach::several_nodes : Reach::unknown;
}

// What NCCL's log would not show.
std::map<std::string, SaidInLog> without_nccls(std::map<std::string, SaidInLog> variables) {
  std::erase_if(variables, [](const auto& variable) { return variable.first.starts_with("NCCL_"); });
  return variables;
}

// A word for the level in an environment, beside a log of a version that knows numbers.
std::string misread_word(const NcclLog& log, const std::vector<EnvironmentFile>& environments) {
  for (const EnvironmentFile& file : environments)
    if (const SaidInLog* level = find_variable(file.variables, "NCCL_P2P_LEVEL");
        level != nullptr && is_before_2_6(log.version) && !find_integer<int>(level->text))
      return level->text;
  return {};
}

struct Surroundings {
  const std::vector<EnvironmentFile>& environments;
  bool explained;  // one of them turned peers off
};

void check_log(const NcclLog& log, const NcclLog& run, const Surroundings& around, Diagnosis& diagnosis) {
  check_blocked_peers(log, diagnosis.findings);
  const bool alone = run.gpus_per_node == 1 || run.ranks == 1;
  check_variables({.file = log.file,
                   .of = log.variables,
                   .over_sockets = run.spans_nodes() && !has_own_network(run),
                   .alone = alone,
                   .reach = reach_of(run),
                   .ways_known = !run.transports.empty(),
                   .misread = misread_word(log, around.environments),
                   .link = link_of(log)},
                  diagnosis);
  if (!around.explained && !turns_peers_off(log.variables) && !blocks_peers(log))
    check_shared_memory(log, run, diagnosis);
  check_network(log, run, diagnosis);
}

}  // namespace

void check_variables(const SetVariables& given, Diagnosis& diagnosis) {
  check_p2p_variables(given, diagnosis.findings);
  check_network_variables(given, diagnosis.findings);
  check_narrowing_variables(given, diagnosis);
  check_costly_variables(given, diagnosis);
}

// Before 2.11 it says so of every pair without peer access, also of those that were never meant to have it: of bridged
// GeForce cards all but the bridged.
bool blocks_peers(const NcclLog& log) {
  if (!log.blocked_p2p) return false;
  return !log.blocked_p2p->text.starts_with(kNoPeersOfOld) || log.find(Transport::p2p) == nullptr;
}

bool turns_peers_off(const std::map<std::string, SaidInLog>& variables) {
  return is_on(find_variable(variables, "NCCL_P2P_DISABLE")) ||
         forbids_all_peers(find_variable(variables, "NCCL_P2P_LEVEL"));
}

void add_log_findings(const CaseFile& given, Diagnosis& diagnosis) {
  const auto& logs = given.files.logs;
  // A log shows what the variables were when it ran, if it shows any; old ones not those that turn peers off.
  const bool silent = std::all_of(logs.begin(), logs.end(), [](const NcclLog& log) {
    return log.variables.empty() ||
           (log.find(Transport::shared_memory) != nullptr && !turns_peers_off(log.variables));
  });
  bool explained = false;
  for (const EnvironmentFile& file : given.files.environments) {
    const auto seen = silent ? file.variables : without_nccls(file.variables);
    const bool sockets = goes_over_sockets(logs, !is_of_one_node(file.variables));
    check_variables({.file = file.file,
                     .of = seen,
                     .over_sockets = sockets,
                     .alone = false,
                     .reach = reach_of(file.variables, logs)},
                    diagnosis);
    explained = explained || turns_peers_off(seen);
    hint_at_shared_memory(file, diagnosis.hints);
  }
  check_members(logs, diagnosis);
  const auto run = find_joined(logs);
  for (const NcclLog& log : logs)
    check_log(log, run ? *run : log, {given.files.environments, explained}, diagnosis);
}

}  // namespace gradwire
