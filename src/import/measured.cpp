#include "import/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::size_t kMostColumns = 1024;

std::vector<std::string_view> cells_of(std::string_view line) {
  std::vector<std::string_view> cells;
  std::size_t begin = 0;
  for (std::size_t i = 0; i <= line.size(); ++i) {
    const bool blank =
        i == line.size() || std::isspace(static_cast<unsigned char>(line[i])) || line[i] == ',';
    if (!blank) continue;
    if (i > begin) cells.push_back(line.substr(begin, i - begin));
    begin = i + 1;
  }
  return cells;
}

std::optional<double> plain_number(std::string_view text) {
  double value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  const bool whole = error == std::errc{} && end == text.data() + text.size();
  return whole && value >= 0 && value < 1e12 ? std::optional(value) : std::nullopt;
}

bool has(std::string_view text, std::string_view word) { return text.find(word) != std::string_view::npos; }

// 0 1 2 ..., after a corner such as D\D.
bool is_header(std::vector<std::string_view> cells) {
  if (!cells.empty() && !plain_number(cells[0])) cells.erase(cells.begin());
  for (std::size_t i = 0; i < cells.size(); ++i)
    if (find_integer<std::size_t>(cells[i]) != i) return false;
  return !cells.empty() && cells.size() <= kMostColumns;
}

// "0 833.95 11.27", as many figures as there are columns.
std::optional<std::vector<std::optional<double>>> find_figures(std::string_view line, std::size_t row) {
  const auto cells = cells_of(line);
  if (cells.size() < 2 || find_integer<std::size_t>(cells[0]) != row) return std::nullopt;
  std::vector<std::optional<double>> figures;
  for (std::size_t i = 1; i < cells.size() && i <= kMostColumns; ++i) {
    figures.push_back(plain_number(cells[i]));
    if (!figures.back() && cells[i] != "N/A") return std::nullopt;
  }
  return figures;
}

// `test`: what nvbandwidth said it runs.
RateTable table_titled(std::string_view title, std::string_view test, int line) {
  RateTable table;
  table.title = std::string(trim(title));
  table.line = line;
  if (has(title, "CPU(row)"))
    table.between = has(title, "<-") ? RateTable::Between::gpu_to_host : RateTable::Between::host_to_gpu;
  table.both_ways = has(title, "Bidirectional") || has(test, "bidirectional");
  table.staged = has(title, "P2P=Disabled");
  return table;
}

bool is_title(std::string_view line) {
  return has(line, "andwidth") && has(line, "GB/s") && (has(line, "Matrix") || has(line, "(row)"));
}

std::string small_letters(std::string_view text) {
  std::string lower(text);
  for (char& c : lower) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return lower;
}

std::optional<Bytes> find_size(std::string_view text) {
  try {
    return parse_bytes(text);
  } catch (const ConfigError&) {
    return std::nullopt;
  }
}

struct Unit {
  SizeTable::Of of = SizeTable::Of::time_us;
  double times = 1;
};

std::optional<Unit> find_unit(std::string_view header) {
  const std::string text = small_letters(header);
  if (has(text, "algbw")) return Unit{SizeTable::Of::algbw_gbps, 1};
  if (has(text, "busbw") || has(text, "gb/s")) return Unit{SizeTable::Of::busbw_gbps, 1};
  for (const auto cell : cells_of(text)) {
    const bool micro = has(cell, "us") || has(cell, "microsec");
    if (micro || has(cell, "ms")) return Unit{SizeTable::Of::time_us, micro ? 1.0 : 1e3};
  }
  return std::nullopt;
}

}  // namespace

std::vector<RateTable> parse_rate_tables(std::string_view text) {
  std::vector<RateTable> tables;
  std::string_view test;
  bool open = false;
  int number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    if (line.starts_with("Running ")) test = line;
    if (is_title(line)) {
      open = true;
      tables.push_back(table_titled(line, test, number));
    } else if (open && !(tables.back().gbps.empty() && is_header(cells_of(line)))) {
      auto figures = find_figures(line, tables.back().gbps.size());
      open = figures.has_value();
      if (figures) tables.back().gbps.push_back(*std::move(figures));
    }
  }
  std::erase_if(tables, [](const RateTable& table) { return table.gbps.empty(); });
  return tables;
}

SizeTable parse_size_table(std::string_view text, const std::string& name) {
  SizeTable table;
  std::optional<Unit> unit;
  int number = 0;
  for (const auto line : split(text, '\n')) {
    ++number;
    const auto cells = cells_of(line);
    if (cells.empty()) continue;
    const auto bytes = cells.size() == 2 ? find_size(cells[0]) : std::nullopt;
    const auto figure = cells.size() == 2 ? plain_number(cells[1]) : std::nullopt;
    if (!unit && !figure) {
      unit = find_unit(line);
      continue;
    }
    if (!unit)
      throw ConfigError(
          fmt::format("{}: a line above the figures must say what they are: `bytes us`, `bytes ms`, "
                      "`bytes busbw` or `bytes algbw` (GB/s)",
                      name));
    if (!bytes || !figure || *bytes == 0 || *figure <= 0)
      throw ConfigError(fmt::format("{} line {}: a size and a figure above 0 are expected", name, number));
    table.rows.emplace_back(*bytes, *figure * unit->times);
  }
  if (table.rows.empty())
    throw ConfigError(
        fmt::format("{}: neither output of nccl-tests, p2pBandwidthLatencyTest or nvbandwidth, nor of "
                    "`gradwire bench --json`, nor two columns under `bytes us`",
                    name));
  table.of = unit->of;
  return table;
}

}  // namespace gradwire
