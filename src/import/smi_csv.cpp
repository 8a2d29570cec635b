// `nvidia-smi --query-gpu=... --format=csv`, and what CUDA's samples say of peers: lines of a form of their own.
#include <algorithm>
#include <cctype>
#include <optional>
#include <set>

#include "base/text.h"
#include "import/machine_reports.h"
#include "import/measured.h"

namespace gradwire {
namespace {

using CsvCells = std::vector<std::string_view>;

bool mentions(std::string_view text, std::string_view part) {
  return text.find(part) != std::string_view::npos;
}

CsvCells csv_cells(std::string_view line) {
  CsvCells cells = split(line, ',');
  for (auto& cell : cells) cell = trim(cell);
  return cells;
}

// The columns that are judged; of others a table may have any.
bool is_telling(std::string_view column) {
  return column.starts_with("pcie.link.") || column.starts_with("clocks_throttle_reasons.") ||
         column.starts_with("clocks_event_reasons.");
}

// "index, name, pcie.link.width.current", or what the command asks for: the answer may have no heading.
CsvCells find_columns(std::string_view line) {
  constexpr std::string_view kAsked = "--query-gpu=";
  if (const auto at = line.find(kAsked); at != std::string_view::npos) {
    line = line.substr(at + kAsked.size());
    line = line.substr(0, line.find_first_of(" \t\"'"));
  }
  CsvCells cells = csv_cells(line);
  for (auto& cell : cells) cell = cell.substr(0, cell.find(" ["));  // its unit
  return cells.size() > 1 && std::any_of(cells.begin(), cells.end(), is_telling) ? cells : CsvCells{};
}

int number_in_cell(std::string_view cell) {
  return find_integer<int>(cell.substr(0, cell.find_first_not_of("0123456789"))).value_or(0);
}

void read_cell(std::string_view column, std::string_view cell, PciReport::Device& device) {
  if (column == "index") device.slot = "GPU " + std::string(cell.substr(0, 8));
  if ((column == "pci.bus_id" || column == "gpu_bus_id") && device.slot.empty()) device.slot = cell;
  if (column == "name" || column == "gpu_name") device.product = cell.substr(0, 80);
  if (column == "pcie.link.width.current") device.width_now = number_in_cell(cell);
  if (column == "pcie.link.width.max") device.width_most = number_in_cell(cell);
  if (column == "pcie.link.gen.current") device.gen_now = number_in_cell(cell);
  if (column == "pcie.link.gen.max") device.gen_most = number_in_cell(cell);
  if (column == "utilization.gpu") device.busy_percent = number_in_cell(cell);
  const auto reason = column.substr(column.find('.') + 1);
  if (mentions(column, "_reasons.") && reason.ends_with("_slowdown") && cell == "Active") {
    device.slowed += (device.slowed.empty() ? "" : ", ") + std::string(reason);
    device.slowed_line = device.line;
  }
}

// A row has as many cells as there are columns, and is no heading.
bool is_csv_row(const CsvCells& columns, const CsvCells& cells) {
  return !columns.empty() && cells.size() == columns.size() &&
         std::none_of(cells.begin(), cells.end(), is_telling);
}

// "Device=0 CANNOT Access Peer Device=1"; "> Peer access from NVIDIA A40 (GPU0) -> NVIDIA A40 (GPU1) : No".
struct PeerLine {
  int from = 0, to = 0;
  bool may = false;
};

std::optional<int> gpu_behind(std::string_view line, std::string_view word, std::size_t from = 0) {
  const auto at = line.find(word, from);
  if (at == std::string_view::npos) return std::nullopt;
  const auto digits = line.substr(at + word.size());
  return find_integer<int>(digits.substr(0, digits.find_first_not_of("0123456789")));
}

std::optional<PeerLine> find_peer_line(std::string_view line) {
  const auto access = line.find(" Access Peer Device=");
  const bool sample = access != std::string_view::npos && line.starts_with("Device=");
  const bool query = mentions(line, "Peer access from ") && mentions(line, ") -> ");
  if (!sample && !query) return std::nullopt;
  const auto from = sample ? gpu_behind(line, "Device=") : gpu_behind(line, "(GPU");
  const auto to = sample ? gpu_behind(line, "Device=", access) : gpu_behind(line, "(GPU", line.find("->"));
  if (!from || !to) return std::nullopt;
  const bool may = sample ? !mentions(line, "CANNOT") : trim(line).ends_with("Yes");
  return PeerLine{*from, *to, may};
}

// "NVIDIA GeForce RTX 3090" of "Device: 0, NVIDIA GeForce RTX 3090, pciBusID: 1b, ...", or of who asks for a peer.
std::string_view find_make(std::string_view line) {
  if (line.starts_with("Device: ") && mentions(line, "pciBusID")) {
    const CsvCells cells = csv_cells(line);
    return cells.size() > 1 ? cells[1] : std::string_view{};
  }
  constexpr std::string_view kFrom = "Peer access from ";
  const auto at = line.find(kFrom), end = line.find(" (GPU");
  if (at == std::string_view::npos || end == std::string_view::npos || end < at + kFrom.size()) return {};
  return line.substr(at + kFrom.size(), end - at - kFrom.size());
}

// Of tables between GPUs, one way: with peer access, and with P2P=Disabled.
void add_rates(std::string_view text, PeerReport& report) {
  for (const RateTable& table : parse_rate_tables(text)) {
    if (table.between != RateTable::Between::gpus || table.both_ways) continue;
    double& most = table.staged ? report.without_peers_gbps : report.with_peers_gbps;
    for (std::size_t row = 0; row < table.gbps.size(); ++row)
      for (std::size_t column = 0; column < table.gbps[row].size(); ++column)
        if (row != column) most = std::max(most, table.gbps[row][column].value_or(0));
    if (!table.staged) report.rates_line = table.line;
    report.gpus = std::max(report.gpus, static_cast<int>(table.gbps[0].size()));
  }
}

}  // namespace

PciReport parse_smi_csv(std::string_view text, const std::string& name) {
  PciReport report;
  report.file = name;
  report.by_driver = true;
  CsvCells columns;
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    if (auto found = find_columns(trim(raw)); !found.empty()) columns = std::move(found);
    const CsvCells cells = csv_cells(raw);
    if (!is_csv_row(columns, cells)) continue;
    PciReport::Device device;
    device.gpu = true;
    device.line = number;
    for (std::size_t i = 0; i < cells.size(); ++i) read_cell(columns[i], cells[i], device);
    if (device.slot.empty()) device.slot = "GPU " + std::to_string(report.devices.size());
    report.devices.push_back(std::move(device));
  }
  return report;
}

bool looks_like_smi_csv(std::string_view text) {
  const bool may = mentions(text, "pcie.link.") || mentions(text, "_reasons.");
  return may && !parse_smi_csv(text, "").devices.empty();
}

bool looks_like_peer_test(std::string_view text) {
  return mentions(text, "Access Peer Device=") || mentions(text, "> Peer access from ") ||
         mentions(text, "P2P=Enabled Bandwidth") || mentions(text, "GPU(row)");
}

PeerReport parse_peer_test(std::string_view text, const std::string& name) {
  PeerReport report;
  report.file = name;
  report.by_test = true;
  std::set<int> gpus;
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    const auto line = trim(raw);
    if (report.gpu.empty()) report.gpu = std::string(find_make(line).substr(0, 80));
    const auto peers = find_peer_line(line);
    if (!peers) continue;
    gpus.insert({peers->from, peers->to});
    if (!peers->may)
      report.refusals.push_back(
          {"GPU" + std::to_string(peers->from), "GPU" + std::to_string(peers->to), "refused", number});
  }
  report.gpus = static_cast<int>(gpus.size());
  add_rates(text, report);
  return report;
}

}  // namespace gradwire
