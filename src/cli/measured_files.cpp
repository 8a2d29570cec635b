#include "cli/flags.h"

#include <fmt/format.h>

#include <CLI/CLI.hpp>
#include <algorithm>
#include <cmath>
#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "import/measured.h"
#include "import/nccl_tests.h"
#include "sim/sweep.h"

namespace gradwire {
namespace {

double bus_factor_of(int ranks) { return bus_factor(Collective::all_reduce, ranks); }

// busbw / algbw is 2(n-1)/n of an all-reduce: that tells n where no rank was printed, and other collectives apart.
int ranks_of(const NcclTestTable& table) {
  const NcclTestRow& row = *std::ranges::max_element(table.rows, {}, &NcclTestRow::busbw_gbps);
  if (row.busbw_gbps == 0 && table.ranks > 1) return table.ranks;  // small sizes, printed as 0.00
  const double factor = row.busbw_gbps * row.time_us * 1e3 / static_cast<double>(row.bytes);
  const int told = factor < 1.999 ? static_cast<int>(std::lround(2 / (2 - factor))) : 0;
  const int ranks = table.ranks > 0 ? table.ranks : told;
  if (ranks < 2 || std::abs(factor / bus_factor_of(ranks) - 1) > 0.05)
    throw ConfigError(
        fmt::format("{} line {}: busbw is {:.2f} of algbw, of an all_reduce of {} ranks it is {:.2f}; "
                    "output of all_reduce_perf is needed",
                    table.file, row.line, factor, ranks, ranks > 1 ? bus_factor_of(ranks) : 1));
  return ranks;
}

OwnSweep sweep_of(const NcclTestTable& table) {
  OwnSweep sweep{ranks_of(table), {}, table.hosts};
  for (const NcclTestRow& row : table.rows)
    if (row.bytes > 0 && row.time_us > 0) sweep.rows.emplace_back(row.bytes, row.time_us * 1e-6);
  return sweep;
}

OwnSweep sweep_of(const SizeTable& table, int ranks) {
  OwnSweep sweep{ranks, {}};
  for (const auto& [bytes, figure] : table.rows) {
    const double gbps =
        table.of == SizeTable::Of::busbw_gbps ? figure / bus_factor_of(ranks) : figure;  // of the algorithm
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

void read_json(const std::string& text, const std::string& file, OwnMeasurements& all) {
  try {
    for (const Sweep& sweep : read_sweeps(text)) {
      if (sweep.collective != Collective::all_reduce || sweep.backend != "nccl") continue;
      OwnSweep own{sweep.ranks, {}};
      for (const Sample& sample : sweep.samples) own.rows.emplace_back(sample.bytes, sample.time);
      all.sweeps.push_back(std::move(own));
    }
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", file, error.what()));
  }
  if (all.sweeps.empty())
    throw ConfigError(fmt::format("{}: it has no all_reduce of nccl, which is what is modelled", file));
}

void read_one(const std::string& file, int ranks, OwnMeasurements& all) {
  const std::string text = read_file(file);
  if (trim(text).starts_with('{')) return read_json(text, file, all);
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
    all.sweeps.push_back(sweep_of(parse_size_table(text, file), ranks));
}

bool tells_a_rate(const OwnMeasurements& all) {
  constexpr Bytes kRates = 1'000'000;
  const auto is_large = [](const auto& row) { return row.first >= kRates; };
  return !all.copies.empty() || std::ranges::any_of(all.sweeps, [&](const OwnSweep& sweep) {
    return std::ranges::any_of(sweep.rows, is_large);
  });
}

std::string_view remark_on(const Narrowed& narrowed, const OwnMeasurements& all) {
  constexpr double kMuchMore = 1.2;
  if (!tells_a_rate(all)) return "; nothing from 1 MB up was measured, so rates are as unsure as before";
  if (narrowed.now > kMuchMore * narrowed.before) return "; it does not fit this machine: was it another?";
  return "";
}

}  // namespace

void add_measured_flag(CLI::App& verb, std::vector<std::string>& files) {
  verb.add_option(
          "--measured", files,
          "what was measured there: nccl-tests, p2pBandwidthLatencyTest, nvbandwidth, bench --json, two "
          "columns; several times")
      ->type_name("FILE")
      ->allow_extra_args(false);
}

OwnMeasurements read_measured(const std::vector<std::string>& files, int ranks) {
  OwnMeasurements all;
  for (const std::string& file : files) read_one(file, ranks, all);
  return all;
}

void apply_measured(Machine& machine, const std::vector<std::string>& files, const NcclSettings& settings) {
  if (files.empty()) return;
  const auto all = read_measured(files, static_cast<int>(machine.gpus.size()));
  const Narrowed narrowed = take_measured(machine, all, settings);
  std::vector<std::string> names;
  for (const std::string& file : files) names.push_back(std::filesystem::path(file).filename().string());
  machine.measured = fmt::format(
      "measured ({}): eight of ten all-reduce times of 64 MiB within {:.0f} %, without it {:.0f} %{}",
      join(names, ", "), 100 * narrowed.now, 100 * narrowed.before, remark_on(narrowed, all));
}

void apply_measured(std::vector<Machine>& machines, const std::vector<std::string>& files,
                    const NcclSettings& settings) {
  std::vector<std::vector<std::string>> of(machines.size());
  for (const std::string& file : files) {
    const auto equals = file.find('=');
    const auto number = find_integer<std::size_t>(file.substr(0, equals == std::string::npos ? 0 : equals));
    if (number && (*number < 1 || *number > machines.size()))
      throw ConfigError(fmt::format("--measured {}: there are {} machines", file, machines.size()));
    of[number ? *number - 1 : 0].push_back(number ? file.substr(equals + 1) : file);
  }
  for (std::size_t i = 0; i < machines.size(); ++i) apply_measured(machines[i], of[i], settings);
}

std::vector<Machine> measured_machines(const std::vector<std::string>& on,
                                       const std::vector<std::string>& files, const NcclSettings& settings) {
  std::vector<Machine> machines;
  for (const auto& name : on) {
    machines.push_back(find_machine(name));
    machines.back().name = name;
  }
  apply_measured(machines, files, settings);
  return machines;
}

}  // namespace gradwire
