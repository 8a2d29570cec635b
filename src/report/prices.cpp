#include "report/prices.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>

#include "measure/sample.h"
#include "report/bench.h"
#include "report/machine_notes.h"
#include "report/narrowest.h"
#include "report/nccl_notes.h"

namespace gradwire {
namespace {

// GB/s of the result and of the busiest link; none where nothing is sent.
double priced_algbw(const Price& price) {
  const Seconds time = price.estimate.time;
  return time > 0 ? algorithm_bandwidth(price.bytes, time) / 1e9 : 0;
}

double priced_busbw(const Price& price, Collective kind, int ranks) {
  const Seconds time = price.estimate.time;
  return time > 0 ? bus_bandwidth(kind, ranks, price.bytes, time) / 1e9 : 0;
}

// What the error bar of a backend rests on.
std::string basis(Backend backend, bool costs_given, bool measured_there) {
  if (backend == Backend::nccl && measured_there) return "what was measured there leaves open";
  if (backend == Backend::nccl)
    return "eight of ten measured times lie within, on machines left out of the fit (docs/accuracy.md)";
  const std::string where =
      costs_given ? "from your --costs" : "from one host of 2 virtual cores (docs/performance.md)";
  if (backend == Backend::shm)
    return "a guess: a sweep of 2 ranks " + where + ", bounded by the memory of the host";
  if (is_own(backend))
    return "a guess: our programs in simulated time, costs of a process " + where +
           "; where the network card is narrowest two measurements over a cable agree to 5 %";
  return "a guess: two constants " + where +
         "; where the network card is narrowest one measurement over a cable agrees to 5 %";
}

std::string microseconds(Seconds time) {
  return time < 0.01 ? fmt::format("{:.5g}", time * 1e6) : fmt::format("{:.0f}", time * 1e6);
}

Sentence comment(const std::string& text) { return {"# " + text, "", "#   "}; }

// Prices of one question on one machine, told.
class PriceTeller {
 public:
  PriceTeller(const PriceQuestion& question, const Machine& machine, const std::vector<Price>& prices)
      : question_(question), machine_(machine), prices_(prices) {}

  nlohmann::json json() const {
    nlohmann::json rows = nlohmann::json::array();
    for (const Price& price : prices_) rows.push_back(row_json(price));
    auto assumed = all_notes(machine_);
    std::ranges::move(nccl_words(), std::back_inserter(assumed));
    return {{"on", machine_.name}, {"predicted", true}, {"assumed", assumed}, {"rows", rows}};
  }

  void add_to(Report& report, bool curves) const {
    report.add(comment(fmt::format("{} on {}: {} GPUs of {} on {} node{}; predicted, not measured; GB/s",
                                   name_of(question_.collective), machine_.name, machine_.gpus.size(),
                                   machine_.gpu.id, machine_.nodes, machine_.nodes == 1 ? "" : "s")));
    add_notes_to(report);
    add_ways_to(report);
    report.add(table());
    if (std::ranges::any_of(prices_, [](const Price& price) { return price.estimate.as_smaller; }))
      report.add(
          comment("*: as long as the largest buffer of the algorithm before it. The one named takes less by "
                  "itself, but no buffer "
                  "is priced below a smaller one (docs/nccl-model.md)"));
    for (const Backend backend : question_.backends)
      report.add(
          comment(fmt::format("+- of {}: {}", to_string(backend),
                              basis(backend, question_.costs.given(), machine_.measured.has_value()))));
    Curves drawn = drawn_curves();
    if (curves && drawn.series.front().points.size() > 1) report.add(Gap{}, std::move(drawn));
  }

 private:
  int ranks() const { return static_cast<int>(machine_.gpus.size()); }
  double busbw(const Price& price) const { return priced_busbw(price, question_.collective, ranks()); }

  // What the environment tells NCCL, where it is asked about.
  std::vector<std::string> nccl_words() const {
    if (std::ranges::find(question_.backends, Backend::nccl) == question_.backends.end()) return {};
    return nccl_notes(machine_, question_.nccl, question_.collective);
  }

  nlohmann::json row_json(const Price& price) const {
    const AllReduceEstimate& estimate = price.estimate;
    return {{"backend", to_string(price.backend)},
            {"collective", name_of(question_.collective)},
            {"ranks", machine_.gpus.size()},
            {"bytes", price.bytes},
            {"time_us", estimate.time * 1e6},
            {"time_us_min", estimate.low * 1e6},
            {"time_us_max", estimate.high * 1e6},
            {"algbw_gbps", priced_algbw(price)},
            {"busbw_gbps", busbw(price)},
            {"wrong", 0},
            {"algorithm", estimate.algorithm},
            {"as_smaller", estimate.as_smaller},
            {"protocol", estimate.protocol},
            {"channels", estimate.channels},
            {"path", path_name(estimate.way)},
            {"narrowest_link", to_words(estimate.narrowest)},
            {"relative_error", estimate.relative_error}};
  }

  void add_notes_to(Report& report) const {
    for (const std::string& note : machine_.notes) report.add(comment("assumed: " + note));
    if (machine_.measured) report.add(comment(to_words(*machine_.measured)));
    for (const std::string& note : nccl_words()) report.add(comment("assumed: " + note));
  }

  // Of each backend the way of its largest buffer.
  void add_ways_to(Report& report) const {
    for (std::size_t i = 0; i < prices_.size(); ++i)
      if (i + 1 == prices_.size() || prices_[i + 1].backend != prices_[i].backend)
        report.add(comment(fmt::format("{}: over {}; narrowest: {}", to_string(prices_[i].backend),
                                       path_name(prices_[i].estimate.way),
                                       to_words(prices_[i].estimate.narrowest))));
  }

  Table table() const {
    Table table{.rows = {{"backend", "bytes", "us", "+- %", "algbw", "busbw", "algo", "proto", "ch."}},
                .left = 1};
    for (const Price& price : prices_) {
      const AllReduceEstimate& estimate = price.estimate;
      table.rows.push_back({to_string(price.backend), fmt::to_string(price.bytes),
                            microseconds(estimate.time), fmt::format("{:.0f}", 100 * estimate.relative_error),
                            fmt::format("{:.2f}", priced_algbw(price)), fmt::format("{:.2f}", busbw(price)),
                            estimate.algorithm + (estimate.as_smaller ? "*" : ""), estimate.protocol,
                            estimate.channels > 0 ? fmt::to_string(estimate.channels) : "-"});
    }
    return table;
  }

  Curves drawn_curves() const {
    Curves curves = bandwidth_curves();
    for (const Price& price : prices_) {
      const auto name = to_string(price.backend);
      if (curves.series.empty() || curves.series.back().name != name)
        curves.series.push_back({.name = name, .points = {}});
      curves.series.back().points.emplace_back(static_cast<double>(price.bytes), busbw(price));
    }
    return curves;
  }

  const PriceQuestion& question_;
  const Machine& machine_;
  const std::vector<Price>& prices_;
};

}  // namespace

Report prices_report(const PriceQuestion& question, const Machine& machine, const std::vector<Price>& prices,
                     bool curves) {
  const PriceTeller teller(question, machine, prices);
  Report report;
  report.data = teller.json();
  teller.add_to(report, curves);
  return report;
}

}  // namespace gradwire
