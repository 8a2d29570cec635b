// What a log of NCCL says is wrong between nodes, or of the network inside of one.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "explain/log_words.h"

namespace gradwire {
namespace {

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

void check_network_inside_node(const NcclLog& log, const NcclLog& run, std::vector<Finding>& findings) {
  const LoggedTransport* network = log.find(Transport::network);
  if (network == nullptr) return;
  const auto hosts = hosts_of_ranks(run);
  const auto same_host = [&](const auto& pair) {
    const auto from = hosts.find(pair.first), to = hosts.find(pair.second);
    return from != hosts.end() && to != hosts.end() && !from->second.empty() && from->second == to->second;
  };
  // NCCL's own count of nodes goes before the names of hosts.
  const auto inside = std::find_if(log.network_pairs.begin(), log.network_pairs.end(), [&](const auto& pair) {
    return run.nodes ? *run.nodes == 1 : same_host(pair);
  });
  if (inside == log.network_pairs.end()) return;
  const SaidInLog* off = find_variable(log.variables, "NCCL_SHM_DISABLE");
  Finding finding;
  finding.rule = is_on(off) ? "R06" : "R17";
  finding.apart = is_on(off) ? Apart::narrowed : Apart::hidden;
  finding.severity = Severity::high;
  finding.what = fmt::format("{}ranks {} and {} are on one node and talk over the network",
                             is_on(off) ? "NCCL_SHM_DISABLE=1: " : "", inside->first, inside->second);
  finding.evidence = place(log, *network);
  finding.fix =
      is_on(off) ? "unset NCCL_SHM_DISABLE"
                 : "let the processes share memory and see each other's GPUs: docker --ipc=host --gpus all";
  findings.push_back(std::move(finding));
}

// Of Mellanox and Broadcom, also as udev names them: "rocep1s0f0", "ibp12s0".
bool has_rdma_to_gpus(const NcclLog& log) {
  constexpr std::string_view kNames[] = {"mlx", "bnxt_re", "roce", "ibp", "ibs"};
  return std::any_of(log.cards.begin(), log.cards.end(), [&](const auto& card) {
    return std::any_of(std::begin(kNames), std::end(kNames),
                       [&](auto name) { return card.starts_with(name); });
  });
}

// Whatever carries it, NCCL itself says whether it hands over the GPU's memory; of sockets there is nothing else.
bool is_staged(const LoggedTransport& transport) {
  return transport.transport == Transport::network && !transport.gpudirect &&
         !transport.via.starts_with("NET/Socket");
}

bool is_staged_plugin(const LoggedTransport& transport) {
  return is_staged(transport) && !transport.via.starts_with("NET/IB");
}

bool uses_staged_plugin(const NcclLog& log) {
  return std::any_of(log.transports.begin(), log.transports.end(), is_staged_plugin);
}

std::string way_to_gpudirect(const NcclLog& log) {
  for (const char* name : {"NCCL_NET_GDR_LEVEL", "NCCL_IB_CUDA_SUPPORT", "NCCL_NET_GDR_READ"})
    if (const SaidInLog* said = find_variable(log.variables, name);
        said != nullptr && (said->text == "0" || said->text == "LOC"))
      return fmt::format("unset {}  # it is {}, which turns it off", name, said->text);
  if (uses_staged_plugin(log))
    return "the plugin's log says why (NCCL_DEBUG=INFO): of EFA a kind of instance that has it (P4d and "
           "later do, G "
           "and P3 do not), FI_EFA_USE_DEVICE_RDMA=1, and the provider's newest driver, libfabric and plugin";
  if (log.rccl) return "the peer memory of amdgpu (dkms) on every node; NCCL_NET_GDR_LEVEL=SYS";
  return "modprobe nvidia-peermem  # on every node; then NCCL_NET_GDR_LEVEL=SYS if card and GPU are on "
         "different sockets";
}

// Of more ranks than a node has GPUs, mostly.
bool is_too_large_for_a_node(const NcclLog& run) {
  constexpr int kGpusOfNode = 8;
  return run.ranks.value_or(0) > kGpusOfNode && !run.is_of_one_node();
}

// "via NET/IB/0", or what NCCL says of its cards before it connects any, where nodes have to.
std::string staged_evidence(const NcclLog& log, const NcclLog& run) {
  for (const LoggedTransport& transport : log.transports)
    if (is_staged(transport)) return place(log, transport) + ", none with GDRDMA";
  const bool leaves = run.spans_nodes() || is_too_large_for_a_node(run);
  if (!log.staged_network || !leaves || log.find(Transport::network) != nullptr) return {};
  return place(log.file, *log.staged_network, log.staged_network->text);
}

// Cards that can read a GPU's memory, and do not. Omni-Path can't, nor can a card for GPUs that are far from
// it: then those of other ranks do. Where a piece of a log names no card it is one that can, mostly. Of a plugin's cards
// nobody knows: many kinds of machine have none that can.
void check_gpudirect(const NcclLog& log, const NcclLog& run, Diagnosis& diagnosis) {
  const bool direct = std::any_of(run.transports.begin(), run.transports.end(),
                                  [](const auto& transport) { return transport.gpudirect; });
  const std::string evidence = staged_evidence(log, run);
  if (evidence.empty() || direct || !(has_rdma_to_gpus(run) || run.cards.empty()) || run.nodes == 1) return;
  Finding finding;
  finding.rule = "R38";
  if (run.cards.empty() || !run.spans_nodes()) finding.sure = Certainty::likely;
  finding.goes_on = true;
  finding.severity = Severity::high;
  finding.what =
      "the network cards do not read the GPUs' memory (no GPUDirect RDMA): every byte between nodes is "
      "copied through host memory";
  finding.evidence = evidence;
  finding.fix = way_to_gpudirect(log);
  (uses_staged_plugin(log) ? diagnosis.hints : diagnosis.findings).push_back(std::move(finding));
}

// "GPU Direct RDMA Disabled for GPU 18000 / HCA 0 (distance 5 > 4)", beside others of which it is enabled.
void check_distances(const NcclLog& log, const NcclLog& run, Diagnosis& diagnosis) {
  if (!log.far_card || run.is_of_one_node()) return;
  Finding finding;
  finding.rule = "R38";
  finding.sure = Certainty::likely;
  finding.goes_on = run.spans_nodes();
  finding.severity = run.spans_nodes() ? Severity::medium : Severity::low;
  finding.what = fmt::format(
      "GPUDirect RDMA is off for pairs of a GPU and a network card ({} lines), which are farther apart than "
      "NCCL lets read: what they send to other nodes is copied through host memory",
      log.far_card->times);
  finding.evidence = place(log.file, *log.far_card, log.far_card->text);
  finding.fix =
      "nvidia-smi topo -m  # which cards are near; NCCL_NET_GDR_LEVEL=SYS lets far ones read too: measure "
      "both";
  (run.spans_nodes() ? diagnosis.findings : diagnosis.hints).push_back(std::move(finding));
}

// Some connections are read from the GPUs' memory and some are not: a card that is far from its GPU.
void hint_at_far_cards(const NcclLog& log, const NcclLog& run, std::vector<Finding>& hints) {
  const bool direct = std::any_of(run.transports.begin(), run.transports.end(),
                                  [](const auto& transport) { return transport.gpudirect; });
  const auto staged = std::find_if(
      log.transports.begin(), log.transports.end(),
      [](const LoggedTransport& transport) { return is_staged(transport) && !is_staged_plugin(transport); });
  if (!direct || staged == log.transports.end()) return;
  Finding hint;
  hint.rule = "R38";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what =
      "some connections between nodes go through host memory, others straight from the GPUs' (GDRDMA): their "
      "cards "
      "are far from their GPUs";
  hint.evidence = place(log, *staged);
  hint.fix =
      "nvidia-smi topo -m  # which cards are near; NCCL_NET_GDR_LEVEL=SYS lets far ones read it too; "
      "NCCL_CROSS_NIC=0";
  hints.push_back(std::move(hint));
}

// Ranks of one host, all of which wrote into what is here.
bool has_a_whole_node(const NcclLog& run) {
  std::map<std::string, int> ranks;
  for (const LoggedRank& place : run.places) ++ranks[place.host];
  return std::any_of(ranks.begin(), ranks.end(),
                     [&](const auto& host) { return host.second >= run.gpus_per_node.value_or(8); });
}

// Several cards, several GPUs, and all that leaves the nodes goes through one card.
void check_single_card(const NcclLog& log, const NcclLog& run, std::vector<Finding>& findings) {
  constexpr std::size_t kManyCards = 4;
  const auto cards = std::count_if(run.cards.begin(), run.cards.end(),
                                   [](const auto& card) { return card.find("bond") == std::string::npos; });
  const LoggedTransport* network = log.find(Transport::network);
  if (network == nullptr || !network->via.starts_with("NET/IB") || run.used_cards.size() != 1 ||
      static_cast<std::size_t>(cards) < kManyCards || run.gpus_per_node.value_or(0) < 4 ||
      run.nodes.value_or(1) < 2 || !has_a_whole_node(run))
    return;
  Finding finding;
  finding.rule = "R39";
  finding.goes_on = true;
  finding.sure = Certainty::likely;
  finding.what = fmt::format("everything between nodes goes through one of {} network cards", cards);
  finding.evidence = place(log, *network) + fmt::format(", all by card {}", *run.used_cards.begin());
  finding.fix =
      "NCCL_CROSS_NIC=1, or another version of NCCL; NCCL_DEBUG_SUBSYS=INIT,GRAPH shows the channels it "
      "chose; NCCL_IB_HCA names the cards";
  findings.push_back(std::move(finding));
}

// Nodes with one GPU each, and no two at the same place on their boards: perhaps one machine, cut into containers.
void hint_at_containers(const NcclLog& log, const NcclLog& run, std::vector<Finding>& hints) {
  std::set<std::string> buses, hosts;
  for (const LoggedRank& place : run.places) {
    buses.insert(place.bus);
    hosts.insert(place.host);
  }
  const LoggedTransport* network = log.find(Transport::network);
  const bool apart = network != nullptr && run.places.size() > 1 && buses.size() == run.places.size() &&
                     hosts.size() == run.places.size() && run.gpus_per_node.value_or(1) == 1;
  if (!apart) return;
  Finding hint;
  hint.rule = "R17";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what =
      "every node has one GPU, and no two sit in the same slot: if these are containers of one machine, "
      "NVLink and peer "
      "access between them are lost";
  hint.evidence = place(log, *network);
  hint.fix = "one container or pod with all GPUs of the machine, a process for each";
  hints.push_back(std::move(hint));
}

}  // namespace

void check_network(const NcclLog& log, const NcclLog& run, Diagnosis& diagnosis) {
  check_network_inside_node(log, run, diagnosis.findings);
  check_gpudirect(log, run, diagnosis);
  hint_at_far_cards(log, run, diagnosis.hints);
  check_distances(log, run, diagnosis);
  check_single_card(log, run, diagnosis.findings);
  check_socket_network(log, run, diagnosis);
  hint_at_containers(log, run, diagnosis.hints);
}

}  // namespace gradwire
