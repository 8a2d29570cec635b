// What reports on a machine say is wrong: a fabric that is not set up, peers that are refused, slots that are narrow, ACS,
// rates below what the machine should give. Its NVLinks are nvlink_rules.cpp's.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "explain/mixed_gpus.h"

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
  finding.severity = by_product ? Severity::low : Severity::high;
  finding.sure = by_product ? Certainty::likely : Certainty::certain;
  finding.what =
      fmt::format("{} of {} pairs of GPUs may not reach each other: {}", report.refusals.size() / 2,
                  report.gpus * (report.gpus - 1) / 2, reason_of(first.status));
  finding.evidence =
      line_of_file(report.file, first.line, fmt::format("{}-{} is {}", first.from, first.to, first.status));
  finding.fix = by_product ? "nvidia-smi topo -p2p r  # over PCIe; NS of -p2p n is that there is no NVLink"
                           : "take GPUs that may (CUDA_VISIBLE_DEVICES); GeForce cards without NVLink may "
                             "not at all; else update "
                             "the driver and turn ACS and IOMMU off";
  (by_product ? diagnosis.hints : diagnosis.findings).push_back(std::move(finding));
}

// Speed falls when a GPU idles; width does not.
void check_slots(const PciReport& report, std::vector<Finding>& findings) {
  for (const auto& device : report.devices) {
    if (!device.gpu || device.width_now == 0 || device.width_now >= device.width_most) continue;
    Finding finding;
    finding.rule = "R15";
    finding.what =
        fmt::format("{} runs with {} of its {} PCIe lanes", device.slot, device.width_now, device.width_most);
    finding.evidence = fmt::format("{}:{}: width x{} of x{}", short_name(report.file), device.line,
                                   device.width_now, device.width_most);
    finding.fix = "another slot, or a better riser; nvidia-smi -q -d PCIE under load";
    findings.push_back(std::move(finding));
  }
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

constexpr Bytes kTellsARate = 1 << 20;  // of fewer the time is latency

const NcclTestRow& largest_row(const NcclTestTable& table) {
  return *std::max_element(table.rows.begin(), table.rows.end(),
                           [](auto& a, auto& b) { return a.bytes < b.bytes; });
}

// A heading and no row.
void hint_at_silent_sweep(const NcclTestTable& table, std::vector<Finding>& hints) {
  if (table.asked == 0) return;
  Finding hint;
  hint.rule = "R11";
  hint.severity = Severity::low;
  hint.what = "the sweep of nccl-tests came to no size: it hung or died before the first, or was not saved";
  hint.evidence = short_name(table.file);
  hint.fix =
      "again with NCCL_DEBUG=INFO, and give the log to gradwire doctor; NCCL_P2P_DISABLE=1 tells whether "
      "peer "
      "access hangs";
  hints.push_back(std::move(hint));
}

// A sweep that does not come to sizes that tell a rate, or not to those it was asked for.
void hint_at_partial_sweep(const NcclTestTable& table, std::vector<Finding>& hints) {
  if (table.rows.empty()) return hint_at_silent_sweep(table, hints);
  const NcclTestRow& last = largest_row(table);
  if (last.bytes >= std::max(kTellsARate, table.asked)) return;
  Finding hint;
  hint.rule = "R11";
  hint.severity = Severity::low;
  hint.what =
      fmt::format("the sweep of nccl-tests is partial, it ends at {}{}", format_bytes(last.bytes),
                  table.asked > last.bytes ? " of the " + format_bytes(table.asked) + " it was asked for"
                                           : std::string());
  if (last.bytes < kTellsARate) hint.what += ", and sizes below 1 MiB tell latency, not rates";
  hint.evidence = fmt::format("{}:{}", short_name(table.file), last.line);
  hint.fix = "all_reduce_perf -b 8 -e 1G -f 2  # all of it; if it died there, NCCL_DEBUG=INFO says why";
  hints.push_back(std::move(hint));
}

// What nccl-tests reached against what the machine should give, at its largest size.
void check_rates(const CaseFile& given, const NcclTestTable& table, std::vector<Finding>& findings) {
  if (!given.machine || table.rows.empty()) return;
  const NcclTestRow& row = largest_row(table);
  if (row.bytes < kTellsARate) return;
  const int ranks = table.ranks > 0 ? table.ranks : static_cast<int>(given.machine->gpus.size());
  const auto expected = find_expected_rate(*given.machine, table.collective, row.bytes, ranks);
  if (!expected || row.busbw_gbps > expected->busbw_gbps * (1 - std::max(0.3, 2 * expected->relative_error)))
    return;
  Finding finding;
  finding.rule = "R11";
  finding.what = fmt::format("busbw is {:.1f} GB/s at {}; this machine should give {:.0f}", row.busbw_gbps,
                             format_bytes(row.bytes), expected->busbw_gbps);
  finding.evidence = fmt::format("{}:{}", short_name(table.file), row.line);
  finding.fix = "run it again with NCCL_DEBUG=INFO and give the log to gradwire doctor";
  findings.push_back(std::move(finding));
}

// The same of what the run itself did, where the largest of its calls is matched over ranks: waiting is no rate.
void check_recorded_rates(const RecordedCalls& calls, std::vector<Finding>& findings) {
  const RecordedRow* largest = nullptr;
  for (const RecordedRow& row : calls.rows)
    if (row.row.matched && row.row.expected_busbw_gbps && row.row.bytes >= kTellsARate &&
        (largest == nullptr || row.row.bytes > largest->row.bytes))
      largest = &row;
  if (largest == nullptr || largest->row.busbw_gbps > *largest->row.expected_busbw_gbps * 0.5) return;
  Finding finding;
  finding.rule = "R11";
  finding.what = fmt::format("{} of {} runs at a busbw of {:.1f} GB/s; this machine should give {:.0f}",
                             largest->row.collective.word, format_bytes(largest->row.bytes),
                             largest->row.busbw_gbps, *largest->row.expected_busbw_gbps);
  finding.evidence = fmt::format("NCCL's record of {} calls ({})", largest->row.count, largest->way);
  finding.fix = "run it again with NCCL_DEBUG=INFO and give the log to gradwire doctor";
  findings.push_back(std::move(finding));
}

}  // namespace

void add_machine_findings(const CaseFile& given, Diagnosis& diagnosis) {
  for (const PeerReport& report : given.files.peers) check_peers(given, report, diagnosis);
  for (const PciReport& report : given.files.pci) {
    check_slots(report, diagnosis.findings);
    check_fabric(report, diagnosis.findings);
    check_acs(report, diagnosis.findings);
    hint_at_acs(report, diagnosis.hints);
    hint_at_mixed_gpus(report, diagnosis.hints);
  }
  for (const NcclTestTable& table : given.files.tables) check_rates(given, table, diagnosis.findings);
  for (const NcclTestTable& table : given.files.tables) hint_at_partial_sweep(table, diagnosis.hints);
  if (given.nccl_calls) check_recorded_rates(*given.nccl_calls, diagnosis.findings);
}

}  // namespace gradwire
