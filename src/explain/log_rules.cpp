// What a log of NCCL, or an environment, says is wrong. Each rule is a function; what it was learnt from
// stands in docs/explain.md.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "base/text.h"
#include "explain/case_file.h"

namespace gradwire {
namespace {

std::string place(const std::string& file, const SaidInLog& said, const std::string& text) {
  return line_of_file(file, said.line, text);
}

std::string place(const NcclLog& log, const LoggedTransport& transport) {
  return line_of_file(log.file, transport.line,
                      fmt::format("via {} ({} connections)", transport.via, transport.times));
}

const SaidInLog* find_variable(const std::map<std::string, SaidInLog>& variables, const std::string& name) {
  const auto found = variables.find(name);
  return found == variables.end() ? nullptr : &found->second;
}

bool is_on(const SaidInLog* said) { return said != nullptr && !said->text.empty() && said->text != "0"; }

// Levels up to which peers are let through; PIX and beyond stop PCIe peers that are farther, never NVLink.
bool forbids_all_peers(const SaidInLog* level) {
  return level != nullptr && (level->text == "LOC" || level->text == "0");
}

struct Variables {
  const std::string& file;
  const std::map<std::string, SaidInLog>& of;
  bool several_nodes;
};

void check_p2p_variables(const Variables& given, std::vector<Finding>& findings) {
  const SaidInLog* disable = find_variable(given.of, "NCCL_P2P_DISABLE");
  const SaidInLog* level = find_variable(given.of, "NCCL_P2P_LEVEL");
  const bool disabled = is_on(disable);
  if (!disabled && !forbids_all_peers(level)) return;
  const std::string name = disabled ? "NCCL_P2P_DISABLE" : "NCCL_P2P_LEVEL";
  const SaidInLog& said = disabled ? *disable : *level;
  Finding finding;
  finding.rule = "R06";
  finding.severity = Severity::high;
  finding.what = fmt::format(
      "{}={} keeps GPUs from reaching each other: neither NVLink nor PCIe peer access is used, all traffic "
      "inside a node "
      "goes through host memory",
      name, said.text);
  finding.evidence = place(given.file, said, fmt::format("{} set to {}", name, said.text));
  finding.fix =
      fmt::format("unset {}  # if it was set against hangs, mend those instead: ACS, IOMMU, driver", name);
  findings.push_back(std::move(finding));
}

void check_network_variables(const Variables& given, std::vector<Finding>& findings) {
  const SaidInLog* disable = find_variable(given.of, "NCCL_IB_DISABLE");
  if (!is_on(disable) || !given.several_nodes) return;
  Finding finding;
  finding.rule = "R37";
  finding.severity = Severity::high;
  finding.what = "NCCL_IB_DISABLE=1: nodes talk over TCP sockets even where there is InfiniBand or RoCE";
  finding.evidence = place(given.file, *disable, "NCCL_IB_DISABLE set to " + disable->text);
  finding.fix = "unset NCCL_IB_DISABLE  # keep it only where InfiniBand is unusable";
  findings.push_back(std::move(finding));
}

// What narrows NCCL without turning anything off.
void check_narrowing_variables(const Variables& given, Diagnosis& diagnosis) {
  const SaidInLog* channels = find_variable(given.of, "NCCL_MAX_NCHANNELS");
  if (channels != nullptr && find_integer<int>(channels->text).value_or(99) <= 2) {
    Finding finding;
    finding.rule = "R06";
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

void check_variables(const Variables& given, Diagnosis& diagnosis) {
  check_p2p_variables(given, diagnosis.findings);
  check_network_variables(given, diagnosis.findings);
  check_narrowing_variables(given, diagnosis);
}

void check_blocked_peers(const NcclLog& log, std::vector<Finding>& findings) {
  if (!log.blocked_p2p) return;
  Finding finding;
  finding.rule = "R12";
  finding.severity = Severity::high;
  finding.what =
      "GPUs that are connected may not reach each other: the driver, a virtual machine or a container turned "
      "peer access off, so "
      "traffic goes through host memory";
  finding.evidence = place(log.file, *log.blocked_p2p,
                           fmt::format("{} ({} such lines)", log.blocked_p2p->text, log.blocked_p2p->times));
  finding.fix =
      "nvidia-smi topo -p2p r  # shows who may; update the driver, give containers --ipc=host and all GPUs";
  findings.push_back(std::move(finding));
}

// All ranks of a host think theirs is device 0, of different cards: each process was given one GPU.
bool sees_one_gpu_each(const NcclLog& log) {
  std::map<std::string, std::set<std::string>> cards;
  for (const LoggedRank& place : log.places) {
    if (place.device.value_or(0) != 0) return false;
    cards[place.host].insert(place.bus);
  }
  return std::any_of(cards.begin(), cards.end(), [](const auto& host) { return host.second.size() > 1; });
}

Finding shared_memory_finding(const NcclLog& log, const LoggedTransport& shm) {
  Finding finding;
  finding.rule = "R05";
  finding.severity = Severity::high;
  finding.what =
      "GPUs of one node talk through host memory (SHM), not directly: NVLink is not used, nor PCIe peer "
      "access";
  finding.evidence = place(log, shm);
  finding.fix =
      "nvidia-smi topo -m; nvidia-smi topo -p2p r  # which pairs have NVLink or peer access: take those GPUs "
      "(CUDA_VISIBLE_DEVICES), or fit a bridge";
  return finding;
}

void check_shared_memory(const NcclLog& log, bool explained, Diagnosis& diagnosis) {
  const LoggedTransport* shm = log.find(Transport::shared_memory);
  if (shm == nullptr || explained) return;
  Finding finding = shared_memory_finding(log, *shm);
  if (sees_one_gpu_each(log)) {
    finding.rule = "R17";
    finding.sure = Certainty::likely;
    finding.what =
        "each process sees a single GPU, so NCCL can't use NVLink or peer access between them and goes "
        "through host memory (SHM)";
    finding.fix =
        "give every process all GPUs of its node: srun --gpus-per-node instead of --gpus-per-task; docker "
        "--gpus all --ipc=host";
  }
  diagnosis.findings.push_back(std::move(finding));
}

// Ranks and the names of their hosts, but of names that several machines bear: two ranks have the same card there.
std::map<int, std::string> hosts_of_ranks(const NcclLog& log) {
  std::map<std::string, std::set<std::string>> cards;
  std::set<std::string> shared;
  for (const LoggedRank& place : log.places)
    if (!cards[place.host].insert(place.bus).second) shared.insert(place.host);
  std::map<int, std::string> hosts;
  for (const LoggedRank& place : log.places)
    if (!shared.contains(place.host)) hosts.emplace(place.rank, place.host);
  return hosts;
}

void check_network_inside_node(const NcclLog& log, std::vector<Finding>& findings) {
  const LoggedTransport* network = log.find(Transport::network);
  if (network == nullptr) return;
  const auto hosts = hosts_of_ranks(log);
  const auto same_host = [&](const auto& pair) {
    const auto from = hosts.find(pair.first), to = hosts.find(pair.second);
    return from != hosts.end() && to != hosts.end() && !from->second.empty() && from->second == to->second;
  };
  // NCCL's own count of nodes goes before the names of hosts.
  const auto inside = std::find_if(log.network_pairs.begin(), log.network_pairs.end(), [&](const auto& pair) {
    return log.nodes ? *log.nodes == 1 : same_host(pair);
  });
  if (inside == log.network_pairs.end()) return;
  Finding finding;
  finding.rule = "R17";
  finding.severity = Severity::high;
  finding.what =
      fmt::format("ranks {} and {} are on one node and talk over the network", inside->first, inside->second);
  finding.evidence = place(log, *network);
  finding.fix =
      "let the processes share memory and see each other's GPUs: docker --ipc=host --gpus all; unset "
      "NCCL_SHM_DISABLE";
  findings.push_back(std::move(finding));
}

bool has_mellanox(const NcclLog& log) {
  return std::any_of(log.cards.begin(), log.cards.end(),
                     [](const auto& card) { return card.starts_with("mlx"); });
}

// Cards that can read a GPU's memory, and do not. Omni-Path and EFA of old can't.
void check_gpudirect(const NcclLog& log, std::vector<Finding>& findings) {
  bool direct = false;
  const LoggedTransport* staged = nullptr;
  for (const LoggedTransport& transport : log.transports) {
    direct = direct || transport.gpudirect;
    if (transport.transport == Transport::network && !transport.gpudirect &&
        transport.via.starts_with("NET/IB") && staged == nullptr)
      staged = &transport;
  }
  if (staged == nullptr || direct || !has_mellanox(log)) return;
  Finding finding;
  finding.rule = "R38";
  finding.severity = Severity::high;
  finding.what =
      "the network cards do not read the GPUs' memory (no GPUDirect RDMA): every byte between nodes is "
      "copied through host memory";
  finding.evidence = place(log, *staged) + ", none with GDRDMA";
  finding.fix =
      "modprobe nvidia-peermem  # on every node; then NCCL_NET_GDR_LEVEL=SYS if card and GPU are on "
      "different sockets";
  findings.push_back(std::move(finding));
}

void check_sockets(const NcclLog& log, bool explained, Diagnosis& diagnosis) {
  const auto socket = std::find_if(log.transports.begin(), log.transports.end(),
                                   [](const auto& one) { return one.via.starts_with("NET/Socket"); });
  if (socket == log.transports.end() || explained || log.nodes == 1) return;
  Finding hint;
  hint.rule = "R36";
  hint.sure = Certainty::likely;
  hint.what = "nodes talk over TCP sockets, one connection a channel";
  hint.evidence = place(log, *socket);
  hint.fix =
      "NCCL_SOCKET_NTHREADS=4 NCCL_NSOCKS_PERTHREAD=4; NCCL_SOCKET_IFNAME names the fast interface; check "
      "its route";
  (log.cards.empty() ? diagnosis.hints : diagnosis.findings).push_back(std::move(hint));
}

void check_log(const NcclLog& log, Diagnosis& diagnosis) {
  const bool several = log.nodes.value_or(1) > 1 || log.find(Transport::network) != nullptr;
  check_blocked_peers(log, diagnosis.findings);
  check_variables({log.file, log.variables, several}, diagnosis);
  const bool no_peers = is_on(find_variable(log.variables, "NCCL_P2P_DISABLE")) ||
                        forbids_all_peers(find_variable(log.variables, "NCCL_P2P_LEVEL"));
  check_shared_memory(log, no_peers || log.blocked_p2p.has_value(), diagnosis);
  check_network_inside_node(log, diagnosis.findings);
  check_gpudirect(log, diagnosis.findings);
  check_sockets(log, is_on(find_variable(log.variables, "NCCL_IB_DISABLE")), diagnosis);
}

}  // namespace

void add_log_findings(const CaseFile& given, Diagnosis& diagnosis) {
  for (const NcclLog& log : given.files.logs) check_log(log, diagnosis);
  if (!given.files.logs.empty()) return;  // the log shows what the variables were when it ran
  for (const EnvironmentFile& file : given.files.environments)
    check_variables({file.file, file.variables, true}, diagnosis);
}

}  // namespace gradwire
