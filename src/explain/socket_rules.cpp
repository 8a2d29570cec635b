// Why nodes talk over TCP sockets, by a log of NCCL or by what is set for it: cards that are turned off, misnamed or not seen, and the
// interface that is no way to another node.
#include <fmt/format.h>

#include <algorithm>

#include "explain/log_words.h"

namespace gradwire {
namespace {

bool uses_sockets(const NcclLog& log) {
  return log.network.text.starts_with("Socket") ||
         std::any_of(log.transports.begin(), log.transports.end(),
                     [](const auto& one) { return one.via.starts_with("NET/Socket"); });
}

struct ForcedSockets {
  const char* name = "";
  const SaidInLog* said = nullptr;  // null: nothing forces them
};

// Past InfiniBand, whether there is any or not.
ForcedSockets find_forced(const std::map<std::string, SaidInLog>& variables) {
  const SaidInLog* const off = find_variable(variables, "NCCL_IB_DISABLE");
  if (is_on(off)) return {"NCCL_IB_DISABLE", off};
  const SaidInLog* const network = find_variable(variables, "NCCL_NET");
  const bool sockets = network != nullptr && (network->text == "Socket" || network->text == "socket");
  return {"NCCL_NET", sockets ? network : nullptr};
}

const SaidInLog* find_warning(const NcclLog& log, const char* words) {
  const auto found = std::find_if(log.warnings.begin(), log.warnings.end(), [&](const SaidInLog& said) {
    return said.text.find(words) != std::string::npos;
  });
  return found == log.warnings.end() ? nullptr : &*found;
}

const SaidInLog* find_closed_card(const NcclLog& log) { return find_warning(log, "Unable to open device"); }

// "ib0", "ibp12s0", "ibs1f0": an interface that InfiniBand's driver makes; empty: none is in use.
std::string interface_of_infiniband(const NcclLog& log) {
  for (const std::string& name : log.interfaces)
    if (name.size() > 2 && name.starts_with("ib") &&
        std::string_view("0123456789ps").find(name[2]) != std::string::npos)
      return name;
  return {};
}

// What says that NCCL has no card: itself; before 2.4 that it takes sockets. Null: it may have one.
const SaidInLog* find_lack_of_cards(const NcclLog& log) {
  if (log.no_network_card) return &*log.no_network_card;
  return log.cards.empty() && log.network.text.starts_with("Socket") ? &log.network : nullptr;
}

// Addresses that a card of InfiniBand has, and NCCL has no card: the process may not open it.
void check_unseen_cards(const NcclLog& log, const NcclLog& run, Diagnosis& diagnosis) {
  const std::string interface = interface_of_infiniband(log);
  const SaidInLog* const asked = find_variable(log.variables, "NCCL_IB_DISABLE");
  const bool wanted = asked != nullptr && !is_on(asked) && run.spans_nodes();
  const SaidInLog* const lack = find_lack_of_cards(log);
  if (lack == nullptr || !uses_sockets(log) || run.is_of_one_node() || (interface.empty() && !wanted) ||
      find_forced(log.variables).said != nullptr || find_closed_card(log) != nullptr ||
      find_variable(log.variables, "NCCL_IB_HCA") != nullptr)
    return;
  const bool sure_enough = !interface.empty() && run.spans_nodes();
  Finding finding;
  finding.rule = "R37";
  finding.severity = sure_enough ? Severity::high : Severity::low;
  finding.sure = Certainty::likely;
  finding.what =
      interface.empty()
          ? "NCCL_IB_DISABLE=0 asks for InfiniBand, and NCCL finds no card: nodes talk over TCP sockets"
          : fmt::format(
                "{} is an interface of InfiniBand, and NCCL finds no card: nodes talk over TCP "
                "sockets through it",
                interface);
  finding.evidence = place(log.file, *lack, lack->text);
  finding.fix =
      "ibv_devices where the process runs; docker run --device /dev/infiniband --cap-add IPC_LOCK --ulimit "
      "memlock=-1; libibverbs and the card's provider in the image";
  (sure_enough ? diagnosis.findings : diagnosis.hints).push_back(std::move(finding));
}

// The loopback ends in each node itself.
void check_loopback(const NcclLog& log, const NcclLog& run, std::vector<Finding>& findings) {
  const auto loopback = std::find_if(log.addresses.begin(), log.addresses.end(), [](const auto& address) {
    return address.starts_with("127.") || address == "::1";
  });
  const bool several = run.nodes.value_or(0) > 1 || run.hosts.size() > 1;
  if (loopback == log.addresses.end() || !several || run.nodes == 1) return;
  Finding finding;
  finding.rule = "R36";
  finding.severity = Severity::high;
  finding.what = fmt::format(
      "NCCL took the loopback ({}) between nodes: no rank is reached by it from another", *loopback);
  finding.evidence = fmt::format("{}: Bootstrap : Using {}, and {} hosts", short_name(log.file), *loopback,
                                 std::max<std::size_t>(run.hosts.size(), 2));
  finding.fix =
      "NCCL_SOCKET_IFNAME=eth0  # the interface that all nodes share; a host's name must not stand for "
      "127.0.0.1 in /etc/hosts";
  findings.push_back(std::move(finding));
}

// There should be cards and NCCL has none: the process may not open them, or a variable names others.
void check_lost_cards(const NcclLog& log, const NcclLog& run, std::vector<Finding>& findings) {
  const SaidInLog* const named = find_variable(log.variables, "NCCL_IB_HCA");
  const SaidInLog* const closed = find_closed_card(log);
  const bool sockets = log.no_network_card && uses_sockets(log);
  if (!sockets || run.nodes == 1 || (closed == nullptr && (named == nullptr || !run.spans_nodes()))) return;
  const SaidInLog& said = closed != nullptr ? *closed : *log.no_network_card;
  Finding finding;
  finding.rule = "R37";
  finding.severity = Severity::high;
  finding.sure = Certainty::likely;
  finding.what = closed != nullptr
                     ? "the process may not open the InfiniBand or RoCE card: nodes talk over TCP sockets"
                     : fmt::format(
                           "NCCL_IB_HCA={} names no card that this machine has or shows: nodes talk over "
                           "TCP sockets",
                           named->text);
  finding.evidence = place(log.file, said, said.text);
  finding.fix = closed != nullptr
                    ? "docker run --device /dev/infiniband --cap-add IPC_LOCK --ulimit memlock=-1"
                    : "ibv_devices  # the names, on the host and in the container; or unset NCCL_IB_HCA";
  findings.push_back(std::move(finding));
}

void check_sockets(const NcclLog& log, const NcclLog& run, Diagnosis& diagnosis) {
  const auto socket = std::find_if(log.transports.begin(), log.transports.end(),
                                   [](const auto& one) { return one.via.starts_with("NET/Socket"); });
  const bool connects = socket != log.transports.end();
  const bool will = log.network.text.starts_with("Socket") && run.spans_nodes();  // before it connects any
  if ((!connects && !will) || run.nodes == 1) return;
  Finding hint;
  hint.rule = "R36";
  hint.sure = Certainty::likely;
  hint.what = "nodes talk over TCP sockets, one connection a channel";
  hint.evidence =
      connects ? place(log, *socket) : place(log.file, log.network, "Using network " + log.network.text);
  hint.fix =
      "NCCL_SOCKET_NTHREADS=4 NCCL_NSOCKS_PERTHREAD=4; NCCL_SOCKET_IFNAME names the fast interface; check "
      "its route";
  if (find_warning(log, "Failed to open libibverbs") != nullptr) {
    hint.what += "; libibverbs, without which NCCL knows no InfiniBand or RoCE, can't be loaded";
    hint.fix += "; if there are such cards: apt install libibverbs1 ibverbs-providers, in the image too";
  }
  (log.cards.empty() ? diagnosis.hints : diagnosis.findings).push_back(std::move(hint));
}

}  // namespace

void check_network_variables(const SetVariables& given, std::vector<Finding>& findings) {
  const auto [name, said] = find_forced(given.of);
  if (said == nullptr || !given.over_sockets || names_own_network(given.of)) return;
  Finding finding;
  finding.rule = "R37";
  finding.severity = Severity::high;
  finding.what = fmt::format("{}={}: nodes talk over TCP sockets even where there is InfiniBand or RoCE",
                             name, said->text);
  finding.evidence = place(given.file, *said, fmt::format("{} set to {}", name, said->text));
  finding.fix = fmt::format("unset {}  # keep it only where InfiniBand is unusable", name);
  findings.push_back(std::move(finding));
}

void check_socket_network(const NcclLog& log, const NcclLog& run, Diagnosis& diagnosis) {
  check_lost_cards(log, run, diagnosis.findings);
  check_unseen_cards(log, run, diagnosis);
  check_loopback(log, run, diagnosis.findings);
  if (find_forced(log.variables).said == nullptr) check_sockets(log, run, diagnosis);
}

}  // namespace gradwire
