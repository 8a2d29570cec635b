#include "report/bench.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"
#include "measure/limit.h"

namespace gradwire {
namespace {

std::string short_time(Seconds time) {
  const double us = time * 1e6;
  return us < 100   ? fmt::format("{:.2f}", us)
         : us < 1e4 ? fmt::format("{:.1f}", us)
                    : fmt::format("{:.0f}", us);
}

void add_distances(Report& report, const Measurement& measurement) {
  auto seen = measurement.distances_ns;
  std::erase(seen, 0.0);
  if (seen.empty()) return;
  const auto [low, high] = std::minmax_element(seen.begin(), seen.end());
  report.add(Sentence{
      fmt::format("# a cache line takes {:.0f} ns from core to core ({:.0f} to {:.0f} during the run)",
                  median(seen), *low, *high),
      "", "#   "});
}

std::string family(const std::string& backend) { return backend.substr(0, backend.find(':')); }

// Same backend, other memory or the yardstick: not somebody to beat.
bool is_rival(const std::string& backend, const Contest& contest) {
  if (backend == kLimit || family(backend) == family(contest.subject)) return false;
  return contest.against.empty() || family(backend) == contest.against || backend == contest.against;
}

// The median over rounds of a / b.
double ratio(const Row& a, const Row& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.rounds.size(), b.rounds.size()); ++i)
    ratios.push_back(a.rounds[i] / b.rounds[i]);
  return median(ratios);
}

std::vector<std::string> versus_row(const Row& mine, const std::vector<const Row*>& same_size,
                                    const Contest& contest) {
  const Row* best = nullptr;
  const Row* limit = nullptr;
  for (const Row* row : same_size) {
    if (row->backend == kLimit) limit = row;
    if (is_rival(row->backend, contest) && (!best || row->median() < best->median())) best = row;
  }
  return {format_bytes(mine.bytes),
          short_time(mine.median()),
          best ? short_time(best->median()) : "-",
          best ? best->backend : "-",
          best ? fmt::format("{:.2f}x", ratio(*best, mine)) : "-",
          limit ? fmt::format("{:.2f}x", ratio(mine, *limit)) : ""};
}

void add_contest(Report& report, const Measurement& measurement, const Contest& contest) {
  report.add(Gap{},
             Title{fmt::format("{} against the fastest {} and the limit (medians of the rounds' ratios)",
                               contest.subject, contest.against.empty() ? "other" : contest.against)});
  Table table{.rows = {{"size", "us", "other, us", "", "faster", "of limit"}}, .left = 0};
  for (const Row& mine : measurement.rows) {
    if (mine.backend != contest.subject) continue;
    std::vector<const Row*> same_size;
    for (const Row& row : measurement.rows)
      if (row.bytes == mine.bytes) same_size.push_back(&row);
    table.rows.push_back(versus_row(mine, same_size, contest));
  }
  report.add(std::move(table));
}

Table table_of(const BenchOptions& options, const Measurement& measurement) {
  Table table{.rows = {{"backend", "bytes", "count", "us", "min us", "algbw", "busbw", "wrong"}}, .left = 1};
  for (const Row& row : measurement.rows) {
    const double rate = bus_bandwidth(options.collective, options.ranks, row.bytes, row.median());
    table.rows.push_back({row.backend, fmt::to_string(row.bytes),
                          fmt::to_string(row.bytes / size_of(options.dtype)), short_time(row.median()),
                          short_time(row.fastest()),
                          fmt::format("{:.2f}", algorithm_bandwidth(row.bytes, row.median()) / kGiga),
                          fmt::format("{:.2f}", rate / kGiga), fmt::to_string(row.wrong)});
  }
  return table;
}

Curves curves_of(const BenchOptions& options, const Measurement& measurement) {
  Curves curves = bandwidth_curves();
  auto& series = curves.series;
  for (const Row& row : measurement.rows) {
    auto found =
        std::find_if(series.begin(), series.end(), [&](const Series& s) { return s.name == row.backend; });
    if (found == series.end()) found = series.insert(found, {.name = row.backend, .points = {}});
    const double rate = bus_bandwidth(options.collective, options.ranks, row.bytes, row.median());
    found->points.emplace_back(static_cast<double>(row.bytes), rate / kGiga);
  }
  return curves;
}

nlohmann::json bench_json(const BenchOptions& options, const Measurement& measurement) {
  nlohmann::json rows = nlohmann::json::array();
  for (const Row& row : measurement.rows) {
    std::vector<double> rounds_us;
    for (const Seconds time : row.rounds) rounds_us.push_back(time * 1e6);
    rows.push_back(
        {{"backend", row.backend},
         {"collective", name_of(options.collective)},
         {"ranks", options.ranks},
         {"dtype", name_of(options.dtype)},
         {"reduction", name_of(options.reduction)},
         {"bytes", row.bytes},
         {"time_us", row.median() * 1e6},
         {"time_us_min", row.fastest() * 1e6},
         {"processor_us", median(row.processor) * 1e6},
         {"algbw_gbps", algorithm_bandwidth(row.bytes, row.median()) / kGiga},
         {"busbw_gbps", bus_bandwidth(options.collective, options.ranks, row.bytes, row.median()) / kGiga},
         {"wrong", row.wrong},
         {"rounds_us", rounds_us}});
  }
  return {{"rows", rows}, {"core_distance_ns", measurement.distances_ns}};
}

}  // namespace

Curves bandwidth_curves() {
  return {.title = "bus bandwidth, GB/s, over size (both axes logarithmic)",
          .series = {},
          .format_x = [](double x) { return format_bytes(static_cast<Bytes>(x + 0.5)); },
          .format_y = nullptr,
          .x = "size",
          .y = "bus bandwidth, GB/s"};
}

Report bench_report(const BenchOptions& options, const Measurement& measurement, const BenchView& view) {
  Report report;
  report.data = bench_json(options, measurement);
  report.add(Sentence{fmt::format("# {} {} {}, {} ranks, {} rounds with the contestants interleaved; GB/s",
                                  name_of(options.collective), name_of(options.dtype),
                                  name_of(options.reduction), options.ranks, options.rounds),
                      "", "#   "});
  add_distances(report, measurement);
  report.add(table_of(options, measurement));
  Curves curves = curves_of(options, measurement);
  const auto has_curve = [](const Series& one) { return one.points.size() > 1; };
  if (view.curves && std::ranges::any_of(curves.series, has_curve)) report.add(Gap{}, std::move(curves));
  if (view.contest) add_contest(report, measurement, *view.contest);
  return report;
}

}  // namespace gradwire
