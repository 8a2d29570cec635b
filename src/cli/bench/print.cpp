#include "cli/bench/print.h"

#include <fmt/format.h>

#include <algorithm>

#include "report/chart.h"

namespace gradwire {
namespace {

std::string short_time(Seconds time) {
  const double us = time * 1e6;
  return us < 100   ? fmt::format("{:.2f}", us)
         : us < 1e4 ? fmt::format("{:.1f}", us)
                    : fmt::format("{:.0f}", us);
}

std::string distances(const Measurement& measurement) {
  auto seen = measurement.distances_ns;
  std::erase(seen, 0.0);
  if (seen.empty()) return "";
  const auto [low, high] = std::minmax_element(seen.begin(), seen.end());
  return fmt::format("# a cache line takes {:.0f} ns from core to core ({:.0f} to {:.0f} during the run)\n",
                     median(seen), *low, *high);
}

std::string family(const std::string& backend) { return backend.substr(0, backend.find(':')); }

// Same backend, other memory or the yardstick: not somebody to beat.
bool is_rival(const std::string& backend, const Contest& contest) {
  if (backend == "limit" || family(backend) == family(contest.subject)) return false;
  return contest.against.empty() || family(backend) == contest.against || backend == contest.against;
}

// The median over rounds of a / b.
double ratio(const Row& a, const Row& b) {
  std::vector<double> ratios;
  for (std::size_t i = 0; i < std::min(a.rounds.size(), b.rounds.size()); ++i)
    ratios.push_back(a.rounds[i] / b.rounds[i]);
  return median(ratios);
}

std::string versus_line(const Row& mine, const std::vector<const Row*>& same_size, const Contest& contest) {
  const Row* best = nullptr;
  const Row* limit = nullptr;
  for (const Row* row : same_size) {
    if (row->backend == "limit") limit = row;
    if (is_rival(row->backend, contest) && (!best || row->median() < best->median())) best = row;
  }
  std::string line = fmt::format("{:>12}  {:>10}", format_bytes(mine.bytes), short_time(mine.median()));
  line += best ? fmt::format("  {:>10}  {:<20} {:>6.2f}x", short_time(best->median()), best->backend,
                             ratio(*best, mine))
               : fmt::format("  {:>10}  {:<20} {:>7}", "-", "-", "-");
  line += limit ? fmt::format("  {:>8.2f}x", ratio(mine, *limit)) : "";
  return line + "\n";
}

}  // namespace

std::string bench_table(const BenchOptions& options, const Measurement& measurement) {
  std::string text =
      fmt::format("# {} {} {}, {} ranks, {} rounds with the contestants interleaved\n{}",
                  name_of(options.collective), name_of(options.dtype), name_of(options.reduction),
                  options.ranks, options.rounds, distances(measurement));
  constexpr const char* kHead = "#{:>10} {:>9} {:<20} {:>8} {:>8} {:>6} {:>6} {:>5}\n";
  text += fmt::format(kHead, "size", "count", "backend", "time", "min", "algbw", "busbw", "wrong");
  text += fmt::format(kHead, "(B)", "", "", "(us)", "(us)", "(GB/s)", "(GB/s)", "");
  for (const Row& row : measurement.rows) {
    const double rate = bus_bandwidth(options.collective, options.ranks, row.bytes, row.median());
    text += fmt::format("{:>11} {:>9} {:<20} {:>8} {:>8} {:>6.2f} {:>6.2f} {:>5}\n", row.bytes,
                        row.bytes / size_of(options.dtype), row.backend, short_time(row.median()),
                        short_time(row.fastest()), algorithm_bandwidth(row.bytes, row.median()) / kGiga,
                        rate / kGiga, row.wrong);
  }
  return text;
}

std::string bench_chart(const BenchOptions& options, const Measurement& measurement) {
  std::vector<Series> series;
  for (const Row& row : measurement.rows) {
    auto found =
        std::find_if(series.begin(), series.end(), [&](const Series& s) { return s.name == row.backend; });
    if (found == series.end()) found = series.insert(found, {.name = row.backend, .points = {}});
    const double rate = bus_bandwidth(options.collective, options.ranks, row.bytes, row.median());
    found->points.emplace_back(static_cast<double>(row.bytes), rate / kGiga);
  }
  const bool curves =
      std::any_of(series.begin(), series.end(), [](const Series& s) { return s.points.size() > 1; });
  if (!curves) return {};
  return draw_chart(series, {.title = "bus bandwidth, GB/s, over size (both axes logarithmic)",
                             .format_x = [](double x) { return format_bytes(static_cast<Bytes>(x + 0.5)); }});
}

std::string bench_versus(const BenchOptions&, const Measurement& measurement, const Contest& contest) {
  std::string text = fmt::format("{} against the fastest {} and the limit (medians of the rounds' ratios)\n",
                                 contest.subject, contest.against.empty() ? "other" : contest.against);
  text += fmt::format("{:>12}  {:>10}  {:>10}  {:<20} {:>7}  {:>9}\n", "size", "us", "other, us", "",
                      "faster", "of limit");
  for (const Row& mine : measurement.rows) {
    if (mine.backend != contest.subject) continue;
    std::vector<const Row*> same_size;
    for (const Row& row : measurement.rows)
      if (row.bytes == mine.bytes) same_size.push_back(&row);
    text += versus_line(mine, same_size, contest);
  }
  return text;
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

}  // namespace gradwire
