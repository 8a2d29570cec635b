// Why GPUs of a node talk through host memory, once all that was given has been read: a log alone shows that they do. What
// turned peers off may be in a script or an environment, that NVLink is there in a matrix, and what the GPUs can in a trace
// that names them. Slow collectives are what comes of it, not a second fault.
#include <fmt/format.h>

#include <algorithm>

#include "explain/case_file.h"
#include "explain/what_if.h"
#include "topo/gpu.h"

namespace gradwire {
namespace {

// Where NVLink between GPUs was shown, in words; empty: nowhere.
std::string nvlink_shown(const CaseFile& given) {
  for (const MatrixReport& report : given.files.matrices)
    if (has_nvlink(report.matrix)) return short_name(report.file);
  for (const NvlinkReport& report : given.files.nvlinks)
    for (const auto& gpu : report.gpus)
      if (gpu.active > 0) return short_name(report.file);
  return given.machine && is_nvlinked(*given.machine) ? given.machine->name : "";
}

bool is_known_without_nvlink(const CaseFile& given) {
  const bool matrix = std::any_of(given.files.matrices.begin(), given.files.matrices.end(),
                                  [](const auto& report) { return report.matrix.gpus > 1; });
  return matrix || given.machine;
}

std::optional<Gpu> find_gpu_of(const CaseFile& given) {
  if (given.machine && !given.machine->gpu.id.empty()) return given.machine->gpu;
  const std::string id = gpu_named(given.files);
  return id.empty() ? std::nullopt : std::optional(find_gpu(id));
}

void say_that_nvlink_lies_idle(Finding& finding, const std::string& where) {
  finding.what = fmt::format(
      "GPUs of one node talk through host memory (SHM) though {} shows NVLink between them: it lies idle",
      where);
  finding.fix =
      "env | grep NCCL_P2P  # unset NCCL_P2P_DISABLE and NCCL_P2P_LEVEL, also in /etc/nccl.conf, "
      "~/.nccl.conf "
      "and the container's image; nvidia-smi topo -p2p r  # whether the driver lets them; containers need "
      "all "
      "GPUs and --ipc=host";
}

// Nothing is set wrong: there is no other way between such GPUs.
void say_that_the_gpus_have_no_other_way(Finding& finding, const Gpu& gpu, bool no_nvlink) {
  finding.severity = Severity::medium;
  finding.what = fmt::format(
      "GPUs of one node talk through host memory (SHM): the {} has no peer access over PCIe, and {}",
      gpu.name, no_nvlink ? "there is no NVLink between them" : "NVLink between them is not seen");
  const std::string less = "else send less: accumulation with no_sync(), bf16_compress_hook, a larger batch";
  if (gpu.nvlink_links == 0)
    finding.fix = "such a card has no connector for NVLink; " + less.substr(5);
  else
    finding.fix =
        (no_nvlink ? "an NVLink bridge: the card has the connector; "
                   : "nvidia-smi topo -m  # NV between them? then it is not used; if not, a bridge: the "
                     "card has the connector; ") +
        less;
}

void explain_shared_memory(const CaseFile& given, Finding& finding) {
  if (finding.severity != Severity::high) return;  // some pairs alone: others have a way
  const std::string shown = nvlink_shown(given);
  if (!shown.empty()) return say_that_nvlink_lies_idle(finding, shown);
  const auto gpu = find_gpu_of(given);
  if (gpu && !gpu->pcie_p2p)
    say_that_the_gpus_have_no_other_way(finding, *gpu, is_known_without_nvlink(given));
}

// What was seen of it becomes evidence of what it comes from.
void join_to(Finding& cause, Finding& seen) {
  cause.evidence += "; " + seen.evidence;
  if (seen.slow) cause.evidence += ": " + seen.what;
  if (seen.apart == Apart::turned_off) cause.fix += "; " + seen.fix;
  if (seen.cost_ms.value_or(0) > cause.cost_ms.value_or(0)) {
    cause.cost_ms = seen.cost_ms;
    cause.cost_note = seen.cost_note;
    cause.of_communication = seen.of_communication;
  }
  seen.rule.clear();
}

bool keeps_all_apart(const Finding& finding) {
  return finding.apart != Apart::no && finding.apart != Apart::narrowed;
}

bool is_turned_off(const Finding& finding) { return finding.apart == Apart::turned_off; }

// Of two, what turned peers off explains better than that they are.
Finding* find_cause(std::vector<Finding>& findings) {
  Finding* cause = nullptr;
  for (Finding& finding : findings)
    if (keeps_all_apart(finding) && (cause == nullptr || (is_turned_off(finding) && !is_turned_off(*cause))))
      cause = &finding;
  return cause;
}

// "NCCL_P2P_DISABLE=1 keeps ...", said by a log and by the script that sets it.
bool is_the_same_variable(const Finding& a, const Finding& b) {
  return is_turned_off(a) && is_turned_off(b) &&
         a.what.substr(0, a.what.find(' ')) == b.what.substr(0, b.what.find(' '));
}

// Rates are held against the machine's: host memory explains them only where that has a better way.
bool explains_rates(const CaseFile& given) { return given.machine && !goes_through_host(*given.machine); }

// What came of the cause, or the same said elsewhere.
bool comes_of(const CaseFile& given, const Finding& cause, const Finding& finding) {
  if (&cause == &finding) return false;
  if (finding.apart == Apart::seen) return is_turned_off(cause);
  if (finding.slow) return explains_rates(given);
  return is_the_same_variable(cause, finding);
}

// A run that died has another trouble than its rate, unless somebody set that.
void put_behind_death(std::vector<Finding>& findings) {
  const bool died =
      std::any_of(findings.begin(), findings.end(), [](const Finding& one) { return one.ends_the_run; });
  for (Finding& finding : findings)
    if (died && (finding.goes_on || finding.slow || finding.apart == Apart::seen))
      finding.severity = std::max(finding.severity, Severity::medium);
}

// On its own, by all that was given.
void say_more(const CaseFile& given, Finding& finding) {
  if (finding.apart == Apart::seen) explain_shared_memory(given, finding);
  if (finding.slow && !given.files.logs.empty())
    finding.fix =
        "all_reduce_perf -b 1M -e 1G -f 2 of nccl-tests  # as slow alone: the link, see nvidia-smi -q -d "
        "PCIE "
        "under load; faster alone: what computes beside it";
}

}  // namespace

bool is_nvlinked(const Machine& machine) {
  const auto here =
      std::min<std::size_t>(machine.gpus.size(), static_cast<std::size_t>(machine.gpus_per_node()));
  for (std::size_t i = 0; i < here; ++i)
    for (std::size_t j = 0; j < i; ++j)
      if (nvlinks_between(machine.topology, machine.gpus[i], machine.gpus[j]) > 0) return true;
  return false;
}

void explain_host_memory(const CaseFile& given, std::vector<Finding>& findings) {
  const std::string shown = nvlink_shown(given);
  Finding* cause = find_cause(findings);
  for (Finding& finding : findings)
    if (cause != nullptr && comes_of(given, *cause, finding))
      join_to(*cause, finding);
    else
      say_more(given, finding);
  if (cause != nullptr && is_turned_off(*cause) && !shown.empty())
    cause->what += fmt::format("; the NVLink that {} shows lies idle", shown);
  std::erase_if(findings, [](const Finding& finding) { return finding.rule.empty(); });
  put_behind_death(findings);
}

}  // namespace gradwire
