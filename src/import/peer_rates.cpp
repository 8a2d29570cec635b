// The matrices of CUDA's p2pBandwidthLatencyTest: who may reach whom, and how fast with that and without.
#include <algorithm>
#include <charconv>
#include <optional>

#include "base/text.h"
#include "import/machine_reports.h"

namespace gradwire {
namespace {

enum class Matrix { none, connectivity, disabled, enabled };

Matrix matrix_below(std::string_view line, Matrix above) {
  if (line.find("P2P Connectivity Matrix") != std::string_view::npos) return Matrix::connectivity;
  if (line.find("Matrix") == std::string_view::npos) return above;
  if (!line.starts_with("Unidirectional")) return Matrix::none;  // both ways at once, and latencies
  return line.find("P2P=Enabled") != std::string_view::npos ? Matrix::enabled : Matrix::disabled;
}

// "     1  36.36 2512.44  37.35": the number of a GPU, and a cell for each.
struct RatesRow {
  int gpu = 0;
  std::vector<double> cells;
};

std::optional<RatesRow> find_rates_row(std::string_view line) {
  std::vector<std::string_view> words;
  for (const auto part : split(line, ' '))
    for (const auto word : split(part, '\t'))
      if (const auto text = trim(word); !text.empty()) words.push_back(text);
  const auto gpu = words.size() < 3 ? std::nullopt : find_integer<int>(words[0]);
  if (!gpu || *gpu < 0 || static_cast<std::size_t>(*gpu) + 1 >= words.size()) return std::nullopt;
  RatesRow row{*gpu, {}};
  for (std::size_t i = 1; i < words.size(); ++i) {
    double cell = 0;
    const auto [end, error] = std::from_chars(words[i].data(), words[i].data() + words[i].size(), cell);
    if (error != std::errc{} || end != words[i].data() + words[i].size()) return std::nullopt;
    row.cells.push_back(cell);
  }
  return row;
}

void take_row(const RatesRow& row, Matrix matrix, int line, PeerReport& report) {
  for (std::size_t i = 0; i < row.cells.size(); ++i) {
    if (static_cast<int>(i) == row.gpu) continue;
    if (matrix == Matrix::connectivity && row.cells[i] == 0)
      report.refusals.push_back(
          {"GPU" + std::to_string(row.gpu), "GPU" + std::to_string(i), "refused", line});
    if (matrix == Matrix::disabled)
      report.without_peers_gbps = std::max(report.without_peers_gbps, row.cells[i]);
    if (matrix == Matrix::enabled && row.cells[i] > report.with_peers_gbps) {
      report.with_peers_gbps = row.cells[i];
      report.rates_line = line;
    }
  }
}

}  // namespace

bool looks_like_peer_rates(std::string_view text) {
  return text.find("P2P Connectivity Matrix") != std::string_view::npos ||
         text.find("P2P=Enabled Bandwidth") != std::string_view::npos;
}

void read_peer_rates(std::string_view text, PeerReport& report) {
  const bool said = !report.refusals.empty();  // in words, above the matrices
  Matrix matrix = Matrix::none;
  int number = 0, gpus = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    matrix = matrix_below(trim(line), matrix);
    const auto row = matrix == Matrix::none ? std::nullopt : find_rates_row(line);
    if (!row) continue;
    gpus = std::max(gpus, static_cast<int>(row->cells.size()));
    if (matrix != Matrix::connectivity || !said) take_row(*row, matrix, number, report);
  }
  report.gpus = std::max(report.gpus, gpus);
}

}  // namespace gradwire
