// What reports on a machine say is wrong: a fabric that is not set up, peers that are refused, slots that are narrow, GPUs that are
// slowed down, ACS. Its NVLinks are nvlink_rules.cpp's, the rates it gives sweep_rules.cpp's.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "explain/mixed_gpus.h"
#include "topo/gpu.h"

namespace gradwire {
namespace {

// Completed is also what failed.
bool is_in_fabric(const PciReport::Device& device) {
  const bool waits = device.fabric == "In Progress" || device.fabric == "Not Started";
  const bool failed = device.fabric == "Completed" && !device.fabric_status.empty() &&
                      device.fabric_status != "Success" && device.fabric_status != "N/A";
  return !waits && !failed;
}

void check_fabric(const PciReport& report, std::vector<Finding>& findings) {
  const auto first = std::find_if_not(report.devices.begin(), report.devices.end(), is_in_fabric);
  if (first == report.devices.end()) return;
  const bool failed = first->fabric == "Completed";
  Finding finding;
  finding.rule = "R20";
  finding.severity = Severity::high;
  finding.what =
      fmt::format("NVSwitch is not set up for {} of {} GPUs: {}",
                  std::count_if(report.devices.begin(), report.devices.end(),
                                [](const auto& device) { return !is_in_fabric(device); }),
                  report.devices.size(), failed ? "setting it up failed" : "the fabric manager does not run");
  finding.evidence = fmt::format("{}:{}: Fabric state {}{}", short_name(report.file), first->fabric_line,
                                 first->fabric, failed ? ", status " + first->fabric_status : std::string());
  finding.fix = "systemctl restart nvidia-fabricmanager  # its version must be the driver's";
  findings.push_back(std::move(finding));
}

// nvidia-smi's own words for why two GPUs may not reach each other.
const char* reason_of(const std::string& status) {
  if (status == "CNS") return "the chipset does not support it";
  if (status == "GNS") return "the GPU does not support it";
  if (status == "TNS") return "the topology does not support it";
  if (status == "refused")
    return "the driver grants no peer access, and what they send goes through host memory";
  if (status == "DR") return "it is disabled by a setting of the driver";
  return "it is not supported";
}

// Of GPUs that a matrix of the same machine shows joined by NVLink.
bool is_of_nvlinked(const std::vector<MatrixReport>& matrices, const PeerReport::Refusal& refusal) {
  return std::any_of(matrices.begin(), matrices.end(), [&](const MatrixReport& report) {
    const auto& names = report.matrix.names;
    const auto from = std::find(names.begin(), names.end(), refusal.from) - names.begin();
    const auto to = std::find(names.begin(), names.end(), refusal.to) - names.begin();
    return from < report.matrix.gpus && to < report.matrix.gpus &&
           report.matrix.cells[from][to].starts_with("NV");
  });
}

// What was asked for such GPUs do not have at all: NVLink (-p2p n) without a bridge, atomics over PCIe, peers over PCIe of most
// GeForce cards.
bool is_by_product(const std::vector<MatrixReport>& matrices, const PeerReport& report) {
  const auto make = report.by_test ? find_gpu_by_name(report.gpu) : std::nullopt;
  if (report.by_test) return make && !make->pcie_p2p;
  return std::all_of(report.refusals.begin(), report.refusals.end(), [&](const PeerReport::Refusal& refusal) {
    return (refusal.status == "NS" || refusal.status == "GNS") && !is_of_nvlinked(matrices, refusal);
  });
}

void check_peers(const CaseFile& given, const PeerReport& report, Diagnosis& diagnosis) {
  if (report.refusals.empty()) return;
  const bool by_product = is_by_product(given.files.matrices, report);
  const auto& first = report.refusals.front();
  Finding finding;
  finding.rule = "R12";
  finding.apart = Apart::refused;
  finding.severity = by_product ? Severity::low : Severity::high;
  finding.sure = by_product ? Certainty::likely : Certainty::certain;
  finding.what =
      fmt::format("{} of {} pairs of GPUs may not reach each other: {}", report.refusals.size() / 2,
                  report.gpus * (report.gpus - 1) / 2, reason_of(first.status));
  finding.evidence =
      line_of_file(report.file, first.line, fmt::format("{}-{} is {}", first.from, first.to, first.status));
  finding.fix = by_product && report.by_test
                    ? "such cards have no peer access over PCIe: a bridge where they have the connector for "
                      "NVLink; else send less (no_sync(), bf16_compress_hook)"
                : by_product ? "nvidia-smi topo -p2p r  # over PCIe; NS of -p2p n is that there is no NVLink"
                             : "take GPUs that may (CUDA_VISIBLE_DEVICES); GeForce cards without NVLink may "
                               "not at all; else update "
                               "the driver and turn ACS and IOMMU off";
  (by_product ? diagnosis.hints : diagnosis.findings).push_back(std::move(finding));
}

// Peers that reach each other more slowly than through host memory: bridges send what passes them up to the processor.
void check_peer_rates(const PeerReport& report, std::vector<Finding>& findings) {
  constexpr double kMuchSlower = 0.6;
  const bool slow =
      report.with_peers_gbps > 0 && report.with_peers_gbps < kMuchSlower * report.without_peers_gbps;
  if (!slow) return;
  Finding finding;
  finding.rule = "R13";
  finding.severity = Severity::high;
  finding.sure = Certainty::likely;
  finding.what = fmt::format(
      "GPUs reach each other at {:.1f} GB/s at most, and through host memory at {:.1f}: bridges redirect "
      "peer "
      "access (ACS, IOMMU), or a link is narrow",
      report.with_peers_gbps, report.without_peers_gbps);
  finding.evidence = line_of_file(report.file, report.rates_line, "the rates with P2P enabled");
  finding.fix =
      "turn ACS and IOMMU off in the BIOS or by setpci (lspci -vv: ACSCtl, and LnkSta under load); "
      "NCCL_P2P_DISABLE=1 until then";
  findings.push_back(std::move(finding));
}

// Speed falls when a GPU idles; width does not.
bool is_narrow(const PciReport::Device& device) {
  return device.gpu && device.width_now > 0 && device.width_now < device.width_most;
}

bool is_slow_under_load(const PciReport::Device& device) {
  constexpr int kBusyPercent = 50;
  return device.gpu && device.gen_now > 0 && device.gen_now < device.gen_most &&
         device.busy_percent >= kBusyPercent;
}

void check_slots(const PciReport& report, std::vector<Finding>& findings) {
  for (const auto& device : report.devices) {
    const bool narrow = is_narrow(device), slow = is_slow_under_load(device);
    if (!narrow && !slow) continue;
    Finding finding;
    finding.rule = "R15";
    finding.goes_on = true;
    if (narrow)
      finding.what = fmt::format("{} runs with {} of its {} PCIe lanes", device.slot, device.width_now,
                                 device.width_most);
    else
      finding.what = fmt::format("{} runs at generation {} of PCIe while it computes, of {} that it could",
                                 device.slot, device.gen_now, device.gen_most);
    finding.evidence = fmt::format("{}:{}: width x{} of x{}", short_name(report.file), device.line,
                                   device.width_now, device.width_most);
    if (slow) finding.evidence += fmt::format(", generation {} of {}", device.gen_now, device.gen_most);
    finding.fix = "another slot, or a better riser; nvidia-smi -q -d PCIE under load";
    findings.push_back(std::move(finding));
  }
}

// By its board or for heat: the others of a run then wait for it.
void check_slowed(const PciReport& report, std::vector<Finding>& findings) {
  const auto is_slowed = [](const PciReport::Device& device) { return !device.slowed.empty(); };
  const auto first = std::find_if(report.devices.begin(), report.devices.end(), is_slowed);
  if (first == report.devices.end()) return;
  const auto all = std::count_if(report.devices.begin(), report.devices.end(), is_slowed);
  Finding finding;
  finding.rule = "R35";
  finding.severity = Severity::high;
  finding.what = fmt::format("{}{} slowed down by the hardware: all others of a run wait for it",
                             first->slot.find("GPU") == 0 ? first->slot : "GPU " + first->slot,
                             all > 1 ? fmt::format(" and {} more are", all - 1) : std::string(" is"));
  finding.evidence = line_of_file(report.file, first->slowed_line, first->slowed + ": Active");
  finding.fix =
      "nvidia-smi -q -d PERFORMANCE,TEMPERATURE,POWER under load; its fans, heat sink and power supply (a "
      "power brake is the board's or the rack's word for too much)";
  findings.push_back(std::move(finding));
}

// Bridges that redirect what GPUs send each other: those above one, where the report says which these are.
std::vector<const PciReport::Device*> redirecting_bridges(const PciReport& report) {
  const auto above_a_gpu = [&](const PciReport::Device& bridge) {
    return bridge.first_bus < 0 ||
           std::any_of(report.devices.begin(), report.devices.end(),
                       [&](const auto& device) { return device.gpu && bridge.is_above(device); });
  };
  std::vector<const PciReport::Device*> bridges;
  for (const auto& device : report.devices)
    if (device.bridge && device.redirects && above_a_gpu(device)) bridges.push_back(&device);
  return bridges;
}

void check_acs(const PciReport& report, std::vector<Finding>& findings) {
  const auto bridges = redirecting_bridges(report);
  const auto gpus = std::count_if(report.devices.begin(), report.devices.end(),
                                  [](const auto& device) { return device.gpu; });
  if (bridges.empty() || gpus < 2) return;
  const PciReport::Device& first = *bridges.front();
  Finding finding;
  finding.rule = "R13";
  finding.severity = Severity::high;
  finding.what = "PCIe bridges redirect peer traffic through the root (ACS): peer access hangs or is slow";
  finding.evidence = fmt::format("{}:{}: ACSCtl of {} and {} more", short_name(report.file), first.acs_line,
                                 first.slot, bridges.size() - 1);
  finding.fix = fmt::format(
      "setpci -s {} ECAP_ACS+6.w=0000  # for each; or pci=noacs, or ACS off in the BIOS", first.slot);
  findings.push_back(std::move(finding));
}

// The same of a list that does not say whose lines these are: GPUs need not be below them.
void hint_at_acs(const PciReport& report, std::vector<Finding>& hints) {
  if (report.nameless_redirects == 0) return;
  Finding hint;
  hint.rule = "R13";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what = fmt::format(
      "{} of this machine redirect{} peer traffic through the root (ACS); if GPUs or their network cards are "
      "below, peer "
      "access and GPUDirect hang or are slow",
      report.nameless_redirects == 1 ? "a PCIe bridge"
                                     : fmt::format("{} PCIe bridges", report.nameless_redirects),
      report.nameless_redirects == 1 ? "s" : "");
  hint.evidence = fmt::format("{}:{}", short_name(report.file), report.nameless_line);
  hint.fix =
      "lspci -vvv as root, all of it, tells which; then setpci -s SLOT ECAP_ACS+6.w=0000, or ACS off in the "
      "BIOS";
  hints.push_back(std::move(hint));
}

}  // namespace

void add_machine_findings(const CaseFile& given, Diagnosis& diagnosis) {
  for (const PeerReport& report : given.files.peers) {
    check_peers(given, report, diagnosis);
    check_peer_rates(report, diagnosis.findings);
  }
  for (const PciReport& report : given.files.pci) {
    check_slots(report, diagnosis.findings);
    check_slowed(report, diagnosis.findings);
    check_fabric(report, diagnosis.findings);
    check_acs(report, diagnosis.findings);
    hint_at_acs(report, diagnosis.hints);
    hint_at_mixed_gpus(report, diagnosis.hints);
  }
}

}  // namespace gradwire
