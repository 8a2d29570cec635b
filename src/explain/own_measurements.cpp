#include "explain/own_measurements.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <iterator>

#include "base/error.h"
#include "base/text.h"
#include "import/file_kind.h"
#include "import/measured.h"
#include "import/nccl_tests.h"

namespace gradwire {
namespace {

double factor_of(int ranks) { return bus_factor(Collective::all_reduce, ranks); }

// busbw / algbw is 2(n-1)/n of an all-reduce: that tells n where no rank was printed, and other collectives apart.
int ranks_of(const NcclTestTable& table) {
  const NcclTestRow& row = *std::ranges::max_element(table.rows, {}, &NcclTestRow::busbw_gbps);
  if (row.busbw_gbps == 0 && table.ranks > 1) return table.ranks;  // small sizes, printed as 0.00
  const double factor = row.busbw_gbps * row.time_us * 1e3 / static_cast<double>(row.bytes);
  const int told = factor < 1.999 ? static_cast<int>(std::lround(2 / (2 - factor))) : 0;
  const int ranks = table.ranks > 0 ? table.ranks : told;
  if (ranks < 2 || std::abs(factor / factor_of(ranks) - 1) > 0.05)
    throw ConfigError(
        fmt::format("{} line {}: busbw is {:.2f} of algbw, of an all_reduce of {} ranks it is {:.2f}; "
                    "output of all_reduce_perf is needed",
                    table.file, row.line, factor, ranks, ranks > 1 ? factor_of(ranks) : 1));
  return ranks;
}

OwnSweep sweep_of(const NcclTestTable& table) {
  OwnSweep sweep{ranks_of(table), {}, table.hosts, table.gpu};
  for (const NcclTestRow& row : table.rows)
    if (row.bytes > 0 && row.time_us > 0) sweep.rows.emplace_back(row.bytes, row.time_us * 1e-6);
  return sweep;
}

OwnSweep sweep_of(const SizeTable& table, int ranks) {
  OwnSweep sweep{ranks, {}};
  for (const auto& [bytes, figure] : table.rows) {
    const double gbps =
        table.of == SizeTable::Of::busbw_gbps ? figure / factor_of(ranks) : figure;  // of the algorithm
    sweep.rows.emplace_back(bytes, table.of == SizeTable::Of::time_us
                                       ? figure * 1e-6
                                       : static_cast<double>(bytes) / (gbps * 1e9));
  }
  return sweep;
}

// One figure for each pair from the tables of a kind: both ways as printed, or 1.8 of one way.
void add_pairs(const std::vector<RateTable>& tables, bool staged, OwnMeasurements& all) {
  constexpr double kBothOfOne = 1.8;  // copies of two directions against one: 1.6 to 2
  const auto usable = [&](const RateTable& table, bool both) {
    return table.between == RateTable::Between::gpus && table.staged == staged && table.both_ways == both;
  };
  for (const bool both : {true, false}) {
    const RateTable* last = nullptr;  // nvbandwidth prints each direction, then the total
    for (const RateTable& table : tables)
      if (usable(table, both)) last = &table;
    if (last == nullptr) continue;
    for (std::size_t i = 0; i < last->gbps.size(); ++i)
      for (std::size_t j = i + 1; j < last->gbps[i].size(); ++j)
        if (const auto gbps = last->gbps[i][j]; gbps && *gbps > 0)
          all.copies.push_back(
              {static_cast<int>(i), static_cast<int>(j), *gbps * (both ? 1 : kBothOfOne), staged});
    return;
  }
}

// What has neither is named for what it is.
SizeTable columns_in(std::string_view text, const std::string& file) try {
  return parse_size_table(text, file);
} catch (const ConfigError&) {
  constexpr std::size_t kHead = 256 << 10;
  const FileKind kind = kind_of(text.substr(0, kHead));
  if (kind == FileKind::unknown) throw;
  throw ConfigError(fmt::format(
      "{}: this is {}, which tells no times: --measured takes what all_reduce_perf of nccl-tests, "
      "p2pBandwidthLatencyTest, nvbandwidth or `gradwire bench --json` printed, or two columns under "
      "`bytes us`; gradwire doctor reads the rest",
      file, words_for(kind)));
}

}  // namespace

void add_measurements(std::string_view text, const std::string& file, int ranks, OwnMeasurements& all) {
  all.files.push_back(file);
  if (trim(text).starts_with('{')) {
    std::ranges::move(own_sweeps(text, file), std::back_inserter(all.sweeps));
    return;
  }
  if (const auto tables = parse_rate_tables(text); !tables.empty()) {
    const auto before = all.copies.size();
    for (const bool staged : {false, true}) add_pairs(tables, staged, all);
    if (all.copies.size() == before)
      throw ConfigError(fmt::format("{}: it has no rates between GPUs, only {}", file, tables.front().title));
    return;
  }
  if (const auto table = parse_nccl_tests(text, file); !table.rows.empty())
    all.sweeps.push_back(sweep_of(table));
  else
    all.sweeps.push_back(sweep_of(columns_in(text, file), ranks));
}

}  // namespace gradwire
