// Variables that cost a run time or keep its nodes apart, wherever they are set: in a log of NCCL, an environment or a script.
// Those that keep GPUs of a node apart are log_rules.cpp's, those that keep nodes from InfiniBand network_rules.cpp's.
#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "explain/log_words.h"

namespace gradwire {
namespace {

enum class Counts { always, unless_one_node };

struct VariableRule {
  const char *name, *rule;
  Severity severity;
  bool proved;  // it costs whatever else is so: a finding; else a hint
  Counts counts;
  bool (*applies)(const std::string& value);
  const char *what, *fix;  // what it does
};

bool turned_on(const std::string& value) {  // not by a name, which a script may give
  return find_integer<int>(value).value_or(0) != 0 || lower_case(value) == "true";
}
bool turned_off(const std::string& value) { return value == "0"; }
bool is_detail(const std::string& value) { return lower_case(value) == "detail"; }
bool is_local_alone(const std::string& value) { return value == "0" || value == "LOC"; }

constexpr const char* kTestsCalls =
    "before every collective all ranks compare what they call, over another connection, and logs of it are "
    "written";
constexpr const char* kHostWaits =
    "the processor waits in every collective until it has ended, and launches nothing meanwhile";

constexpr VariableRule kVariableRules[] = {
    {"CUDA_LAUNCH_BLOCKING", "R41", Severity::high, true, Counts::always, turned_on,
     "the processor waits for every kernel before it launches the next: nothing overlaps, neither launching "
     "nor "
     "communication with computing",
     "unset CUDA_LAUNCH_BLOCKING  # it is for finding the kernel that fails"},
    {"TORCH_DISTRIBUTED_DEBUG", "R41", Severity::low, true, Counts::always, is_detail, kTestsCalls,
     "unset TORCH_DISTRIBUTED_DEBUG  # it is for finding ranks that disagree"},
    {"NCCL_BLOCKING_WAIT", "R41", Severity::low, false, Counts::always, turned_on, kHostWaits,
     "unset NCCL_BLOCKING_WAIT  # TORCH_NCCL_ASYNC_ERROR_HANDLING ends a run that hangs, too"},
    {"TORCH_NCCL_BLOCKING_WAIT", "R41", Severity::low, false, Counts::always, turned_on, kHostWaits,
     "unset TORCH_NCCL_BLOCKING_WAIT  # TORCH_NCCL_ASYNC_ERROR_HANDLING ends a run that hangs, too"},
    {"NCCL_NVLS_ENABLE", "R11", Severity::low, false, Counts::always, turned_off,
     "NVSwitch of Hopper and later does not add up for the GPUs: a large all-reduce of eight H100 reaches "
     "370 GB/s, not 480",
     "unset NCCL_NVLS_ENABLE  # unless it was set against a failure of NVLS or measured to be faster"},
    {"NCCL_PXN_DISABLE", "R40", Severity::low, false, Counts::unless_one_node, turned_on,
     "a GPU does not send by the network card of another GPU of its node: what a near card could take goes "
     "the far way",
     "unset NCCL_PXN_DISABLE  # unless measured to be faster"},
    {"NCCL_NET_GDR_LEVEL", "R38", Severity::low, false, Counts::unless_one_node, is_local_alone,
     "network cards do not read the GPUs' memory: what goes between nodes is copied through host memory",
     "unset NCCL_NET_GDR_LEVEL"},
    {"NCCL_IB_CUDA_SUPPORT", "R38", Severity::low, false, Counts::unless_one_node, turned_off,
     "network cards do not read the GPUs' memory: what goes between nodes is copied through host memory",
     "unset NCCL_IB_CUDA_SUPPORT"},
};

Finding set_finding(const SetVariables& given, const std::string& name, const SaidInLog& said) {
  Finding finding;
  finding.evidence = place(given.file, said, fmt::format("{} set to {}", name, said.text));
  return finding;
}

void check_rule(const VariableRule& rule, const SetVariables& given, Diagnosis& diagnosis) {
  const SaidInLog* const said = find_variable(given.of, rule.name);
  if (said == nullptr || !rule.applies(said->text)) return;
  if (rule.counts == Counts::unless_one_node && given.reach == Reach::one_node) return;
  Finding finding = set_finding(given, rule.name, *said);
  finding.rule = rule.rule;
  finding.severity = rule.severity;
  finding.sure = rule.proved && !given.in_code ? Certainty::certain : Certainty::likely;
  finding.what = fmt::format("{}={}: {}", rule.name, said->text, rule.what);
  finding.fix = given.in_code ? "remove the line" : rule.fix;
  (rule.proved ? diagnosis.findings : diagnosis.hints).push_back(std::move(finding));
}

// Shared memory carries what peers of a node can't reach directly; without both, the network does. Where connections are
// known, network_rules.cpp sees that.
void check_shared_memory_off(const SetVariables& given, Diagnosis& diagnosis) {
  const SaidInLog* const said = find_variable(given.of, "NCCL_SHM_DISABLE");
  if (!is_on(said) || given.ways_known || given.alone) return;
  const bool no_peers = turns_peers_off(given.of);
  Finding finding = set_finding(given, "NCCL_SHM_DISABLE", *said);
  finding.rule = "R06";
  finding.apart = Apart::narrowed;
  finding.severity = no_peers ? Severity::high : Severity::low;
  finding.sure = no_peers ? Certainty::certain : Certainty::likely;
  finding.what =
      fmt::format("NCCL_SHM_DISABLE={}: {}", said->text,
                  no_peers ? "with peer access off too, GPUs of one node talk over the network"
                           : "GPUs of one node that can't reach each other directly talk over the network");
  finding.fix = given.in_code ? "remove the line" : "unset NCCL_SHM_DISABLE";
  (no_peers ? diagnosis.findings : diagnosis.hints).push_back(std::move(finding));
}

// The loopback, and bridges for containers and virtual machines of this host.
bool is_inside_host(std::string_view interface) {
  return interface == "lo" || interface == "docker0" || interface.starts_with("virbr");
}

// "lo", "=lo", "docker0,lo"; "^docker0" names all others.
bool names_inside_alone(std::string_view value) {
  if (value.starts_with("=")) value.remove_prefix(1);
  const auto names = split(value, ',');
  return !value.empty() &&
         std::all_of(names.begin(), names.end(), [](auto name) { return is_inside_host(trim(name)); });
}

void check_interface(const char* name, const SetVariables& given, Diagnosis& diagnosis) {
  const SaidInLog* const said = find_variable(given.of, name);
  if (said == nullptr || !names_inside_alone(said->text) || given.reach == Reach::one_node) return;
  Finding finding = set_finding(given, name, *said);
  if (given.in_code && given.reach == Reach::unknown) return;  // written for one machine, as often as not
  finding.rule = "R36";
  finding.severity = Severity::high;
  finding.sure = Certainty::likely;
  finding.what = fmt::format("{}={}: {} reaches no other node", name, said->text,
                             said->text.ends_with("lo") ? "the loopback" : "a bridge inside of this machine");
  finding.fix = fmt::format("unset {}, or name the interface that all nodes share", name);
  (given.reach == Reach::several_nodes ? diagnosis.findings : diagnosis.hints).push_back(std::move(finding));
}

}  // namespace

void check_costly_variables(const SetVariables& given, Diagnosis& diagnosis) {
  for (const VariableRule& rule : kVariableRules) check_rule(rule, given, diagnosis);
  check_shared_memory_off(given, diagnosis);
  for (const char* name : {"NCCL_SOCKET_IFNAME", "GLOO_SOCKET_IFNAME"})
    check_interface(name, given, diagnosis);
}

}  // namespace gradwire
