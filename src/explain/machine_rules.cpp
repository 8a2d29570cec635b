// What reports on a machine say is wrong: NVLinks that are missing, slots that are narrow, ACS, rates below
// what the machine should give.
#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/text.h"
#include "explain/mixed_gpus.h"

namespace gradwire {
namespace {

int nvlinks_in(const std::string& cell) {
  return cell.starts_with("NV") ? find_integer<int>(std::string_view(cell).substr(2)).value_or(0) : 0;
}

struct NvlinkCounts {
  int usual = 0, fewest = 0;       // between GPUs that have any; usual is the most
  bool pairs_alone = true;         // no GPU has more than one partner: bridges
  std::vector<std::string> fewer;  // GPUs with fewer than usual to every partner
};

NvlinkCounts count_nvlinks(const TopoMatrix& matrix) {
  std::set<int> pairs;
  std::vector<int> most(static_cast<std::size_t>(matrix.gpus), 0);
  NvlinkCounts counts;
  for (int i = 0; i < matrix.gpus; ++i) {
    int partners = 0;
    for (int j = 0; j < matrix.gpus; ++j) {
      const int links = i == j ? 0 : nvlinks_in(matrix.cells[i][j]);
      if (links == 0) continue;
      pairs.insert(links);
      ++partners;
      most[static_cast<std::size_t>(i)] = std::max(most[static_cast<std::size_t>(i)], links);
    }
    counts.pairs_alone = counts.pairs_alone && partners <= 1;
  }
  if (pairs.empty()) return counts;
  counts.fewest = *pairs.begin();
  counts.usual = *pairs.rbegin();
  for (std::size_t i = 0; i < most.size(); ++i)
    if (most[i] > 0 && most[i] < counts.usual) counts.fewer.push_back(matrix.names[i]);
  return counts;
}

// Through NVSwitch all pairs show the same count, a GPU's links, and bridges are alike in a machine: fewer on some
// is a link that is down. In meshes of V100 (NV1, NV2) counts differ by design.
void check_missing_nvlinks(const MatrixReport& report, std::vector<Finding>& findings) {
  const NvlinkCounts counts = count_nvlinks(report.matrix);
  const bool alike = counts.pairs_alone || (all_nvlinked(report.matrix) && counts.usual > 2);
  if (!alike || counts.fewest == counts.usual) return;
  Finding finding;
  finding.rule = "R10";
  finding.severity = Severity::high;
  finding.what = fmt::format(
      "{} fewer NVLinks than other GPUs of this machine ({} instead of {}): links are down, and a collective "
      "runs at the slowest GPU's rate",
      counts.fewer.empty() ? "some pairs have"
                           : join(counts.fewer, ", ") + (counts.fewer.size() == 1 ? " has" : " have"),
      counts.fewest, counts.usual);
  finding.evidence =
      fmt::format("{}: NV{} beside NV{}", short_name(report.file), counts.fewest, counts.usual);
  finding.fix =
      "nvidia-smi nvlink -s  # which link is inactive; nvidia-smi nvlink -e for its errors; reseat or have "
      "the board replaced";
  findings.push_back(std::move(finding));
}

void check_oddities(const MatrixReport& report, std::vector<Finding>& findings) {
  for (const std::string& oddity : report.matrix.oddities) {
    if (oddity.find("NV") == std::string::npos) continue;
    Finding finding;
    finding.rule = "R10";
    finding.sure = Certainty::likely;
    finding.what =
        "the two directions of a pair do not agree: a link is down in one of them, or the report was edited";
    finding.evidence = short_name(report.file) + ": " + oddity;
    finding.fix = "nvidia-smi nvlink -s";
    findings.push_back(std::move(finding));
  }
}

// Only some pairs have NVLink: a ring over all of them runs at its slowest hop.
void hint_at_placement(const MatrixReport& report, std::vector<Finding>& hints) {
  const TopoMatrix& matrix = report.matrix;
  if (matrix.gpus < 3 || !has_nvlink(matrix) || all_nvlinked(matrix)) return;
  Finding hint;
  hint.rule = "R08";
  hint.severity = Severity::low;
  hint.sure = Certainty::likely;
  hint.what =
      "only some pairs of GPUs have NVLink: a job of two belongs on such a pair; one of more runs at the "
      "rate of PCIe";
  hint.evidence = short_name(report.file);
  hint.fix = "CUDA_VISIBLE_DEVICES=0,1  # a pair that shows NV";
  hints.push_back(std::move(hint));
}

// Soldered to a board with NVLink; others have it where somebody fitted a bridge.
bool has_nvlink_by_make(const std::string& name) {
  return name.find("SXM") != std::string::npos || name.find("HBM3") != std::string::npos;
}

// Links that lead nowhere: the cards of an H100 with bridges have twelve of its eighteen at their edge, and a virtual machine
// with some GPUs of a mesh of V100 has links to those that it does not have.
bool is_all_that_it_can(const NvlinkReport& report, const NvlinkReport::Gpu& gpu) {
  const bool bridged = !has_nvlink_by_make(gpu.name) && gpu.active == 12 && gpu.inactive == 6;
  const bool mesh = gpu.name.find("SXM2") != std::string::npos && report.gpus.size() > 1 &&
                    std::all_of(report.gpus.begin(), report.gpus.end(),
                                [&](const auto& other) { return other.active == gpu.active; });
  return gpu.inactive == 0 || bridged || (mesh && gpu.active > 0);
}

void check_nvlink_states(const NvlinkReport& report, std::vector<Finding>& findings) {
  for (const auto& gpu : report.gpus) {
    const bool dark = gpu.active == 0;
    if (dark ? !has_nvlink_by_make(gpu.name) : is_all_that_it_can(report, gpu)) continue;
    Finding finding;
    finding.rule = "R10";
    finding.severity = Severity::high;
    finding.what =
        dark ? fmt::format("no NVLink of GPU {} is active, and a {} is made with them", gpu.index, gpu.name)
             : fmt::format("GPU {} has {} of {} NVLinks active", gpu.index, gpu.active,
                           gpu.active + gpu.inactive);
    finding.evidence = fmt::format("{}:{}", short_name(report.file), gpu.line);
    finding.fix =
        dark ? "systemctl status nvidia-fabricmanager; nvidia-smi -q | grep -A4 Fabric; MIG mode turns "
               "NVLink off too"
             : "reseat the bridge, all of its connectors; on NVSwitch: systemctl status nvidia-fabricmanager";
    findings.push_back(std::move(finding));
  }
}

void check_fabric(const PciReport& report, std::vector<Finding>& findings) {
  const auto waits = [](const auto& device) {
    return device.fabric == "In Progress" || device.fabric == "Not Started";
  };
  const auto first = std::find_if(report.devices.begin(), report.devices.end(), waits);
  if (first == report.devices.end()) return;
  Finding finding;
  finding.rule = "R20";
  finding.severity = Severity::high;
  finding.what =
      fmt::format("NVSwitch is not set up for {} of {} GPUs: the fabric manager does not run",
                  std::count_if(report.devices.begin(), report.devices.end(), waits), report.devices.size());
  finding.evidence =
      fmt::format("{}:{}: Fabric state {}", short_name(report.file), first->fabric_line, first->fabric);
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

void check_peers(const PeerReport& report, std::vector<Finding>& findings) {
  if (report.refusals.empty()) return;
  const auto& first = report.refusals.front();
  Finding finding;
  finding.rule = "R12";
  finding.severity = Severity::high;
  finding.what =
      fmt::format("{} of {} pairs of GPUs may not reach each other: {}", report.refusals.size() / 2,
                  report.gpus * (report.gpus - 1) / 2, reason_of(first.status));
  finding.evidence =
      line_of_file(report.file, first.line, fmt::format("{}-{} is {}", first.from, first.to, first.status));
  finding.fix =
      "take GPUs that may (CUDA_VISIBLE_DEVICES); GeForce cards without NVLink may not at all; else update "
      "the driver and "
      "turn ACS and IOMMU off";
  findings.push_back(std::move(finding));
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

constexpr Bytes kTellsARate = 1 << 20;  // of fewer the time is latency

const NcclTestRow& largest_row(const NcclTestTable& table) {
  return *std::max_element(table.rows.begin(), table.rows.end(),
                           [](auto& a, auto& b) { return a.bytes < b.bytes; });
}

// A sweep that does not come to sizes that tell a rate, or not to those it was asked for.
void hint_at_partial_sweep(const NcclTestTable& table, std::vector<Finding>& hints) {
  if (table.rows.empty()) return;
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
  for (const MatrixReport& report : given.files.matrices) {
    check_missing_nvlinks(report, diagnosis.findings);
    check_oddities(report, diagnosis.findings);
    hint_at_placement(report, diagnosis.hints);
  }
  for (const NvlinkReport& report : given.files.nvlinks) check_nvlink_states(report, diagnosis.findings);
  for (const PeerReport& report : given.files.peers) check_peers(report, diagnosis.findings);
  for (const PciReport& report : given.files.pci) {
    check_slots(report, diagnosis.findings);
    check_fabric(report, diagnosis.findings);
    check_acs(report, diagnosis.findings);
    hint_at_mixed_gpus(report, diagnosis.hints);
  }
  for (const NcclTestTable& table : given.files.tables) check_rates(given, table, diagnosis.findings);
  for (const NcclTestTable& table : given.files.tables) hint_at_partial_sweep(table, diagnosis.hints);
  if (given.nccl_calls) check_recorded_rates(*given.nccl_calls, diagnosis.findings);
}

}  // namespace gradwire
