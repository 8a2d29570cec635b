#include "cli/bench_on_machine.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <optional>

#include "base/error.h"
#include "base/files.h"
#include "cli/flags.h"
#include "measure/sample.h"
#include "predict/backends/own.h"
#include "predict/nccl/collective.h"
#include "predict/nccl/version.h"
#include "report/bench.h"
#include "report/page/topology.h"
#include "report/render.h"

namespace gradwire {
namespace {

struct PricedRow {
  Backend backend = Backend::nccl;
  Bytes bytes = 0;
  AllReduceEstimate estimate;
  double busbw = 0;
};

OwnCosts own_costs(const std::string& measured, const std::string& file) try {
  return own_costs_from_bench(measured);
} catch (const ConfigError& error) {
  throw ConfigError(fmt::format("--costs {}: {}", file, error.what()));
}

// A file that nobody reads is a slip.
void check_costs(const PriceOptions& options) {
  const auto& backends = options.backends;
  if (options.costs.empty() ||
      std::ranges::any_of(backends, [](Backend one) { return one != Backend::nccl; }))
    return;
  throw ConfigError(
      fmt::format("--costs {}: nccl has a model of its own; name what was measured, as in --backend gloo",
                  options.costs));
}

// Prices all-reduces of one backend other than NCCL: ours by their programs, the others by two constants.
class HostBackend {
 public:
  HostBackend(const PriceOptions& options, Backend backend) : backend_(backend) {
    const bool given = !options.costs.empty();
    const auto measured = given ? read_file(options.costs) : std::string();
    if (is_own(backend))
      own_ = given ? own_costs(measured, options.costs) : default_own_costs();
    else
      cost_ =
          given ? backend_cost_from_bench(measured, backend, options.costs) : default_backend_cost(backend);
  }

  AllReduceEstimate all_reduce(const Machine& machine, Bytes bytes) const {
    const auto priced =
        own_ ? own_all_reduce(backend_, *own_, machine, bytes) : backend_all_reduce(cost_, machine, bytes);
    AllReduceEstimate estimate;
    estimate.time = priced.time;
    estimate.algorithm = priced.algorithm;
    estimate.protocol = backend_ == Backend::shm       ? "memory"
                        : backend_ == Backend::shm_tcp ? "shm+TCP"
                                                       : "TCP";
    estimate.path = machine.nodes > 1 ? "host memory + network" : "host memory";
    estimate.narrowest_link = priced.network_bound ? "network card" : to_string(backend_) + "'s own rate";
    estimate.relative_error = priced.relative_error;
    return estimate;
  }

 private:
  Backend backend_;
  std::optional<OwnCosts> own_;
  BackendCost cost_;
};

// Prices what NCCL does: a collective of all GPUs, or messages between some. `bytes` as bench has them: of a gather or
// scatter those of all ranks.
class NcclPriced {
 public:
  NcclPriced(const PriceOptions& options, const Machine& machine)
      : kind_(options.collective), ranks_(static_cast<int>(machine.gpus.size())) {
    if (const auto pairs = message_pairs(kind_, ranks_); !pairs.empty())
      messages_.emplace(machine, pairs, default_calibration(), options.nccl);
    else
      group_.emplace(machine, all_ranks(machine), default_calibration(), options.nccl);
  }

  AllReduceEstimate estimate(Bytes bytes) const {
    if (group_) return group_->estimate(kind_, bytes);
    const bool in_parts = kind_ == Collective::gather || kind_ == Collective::scatter;
    return messages_->estimate(in_parts ? std::max<Bytes>(1, bytes / static_cast<Bytes>(ranks_)) : bytes);
  }

 private:
  Collective kind_;
  int ranks_;
  std::optional<GroupModel> group_;
  std::optional<TransferModel> messages_;
};

std::vector<PricedRow> price(const PriceOptions& options, const Machine& machine) {
  std::vector<PricedRow> rows;
  const int ranks = static_cast<int>(machine.gpus.size());
  for (const Backend backend : options.backends) {
    if (backend != Backend::nccl && options.collective != Collective::all_reduce)
      throw ConfigError(fmt::format("{} with --on: only all_reduce has a model", to_string(backend)));
    const NcclPriced model(options, machine);
    std::optional<HostBackend> host;
    if (backend != Backend::nccl) host.emplace(options, backend);
    for (const Bytes bytes : options.sizes) {
      PricedRow row{backend, bytes, {}, 0};
      row.estimate = host ? host->all_reduce(machine, bytes) : model.estimate(bytes);
      if (row.estimate.time > 0)
        row.busbw = bus_bandwidth(options.collective, ranks, bytes, row.estimate.time) / 1e9;
      rows.push_back(std::move(row));
    }
  }
  return rows;
}

double algbw(const PricedRow& row) {
  return row.estimate.time > 0 ? algorithm_bandwidth(row.bytes, row.estimate.time) / 1e9 : 0;
}

// What the error bar of a backend rests on.
std::string basis(Backend backend, bool measured, bool own) {
  if (backend == Backend::nccl && own) return "what was measured there leaves open";
  if (backend == Backend::nccl)
    return "eight of ten measured times lie within, on machines left out of the fit (docs/accuracy.md)";
  const std::string where =
      measured ? "from your --costs" : "from one host of 2 virtual cores (docs/performance.md)";
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

// What the prices rest on, the environment's word to NCCL included.
std::vector<std::string> assumed(const PriceOptions& options, const Machine& machine) {
  std::vector<std::string> notes = machine.notes;
  if (std::ranges::find(options.backends, Backend::nccl) != options.backends.end())
    std::ranges::move(nccl_notes(machine, options.nccl, options.collective), std::back_inserter(notes));
  return notes;
}

nlohmann::json prices_json(const PriceOptions& options, const Machine& machine,
                           const std::vector<PricedRow>& rows) {
  nlohmann::json list = nlohmann::json::array();
  for (const PricedRow& row : rows) {
    const AllReduceEstimate& estimate = row.estimate;
    list.push_back({{"backend", to_string(row.backend)},
                    {"collective", name_of(options.collective)},
                    {"ranks", machine.gpus.size()},
                    {"bytes", row.bytes},
                    {"time_us", estimate.time * 1e6},
                    {"time_us_min", estimate.time * 1e6 * (1 - estimate.relative_error)},
                    {"time_us_max", estimate.time * 1e6 * (1 + estimate.relative_error)},
                    {"algbw_gbps", algbw(row)},
                    {"busbw_gbps", row.busbw},
                    {"wrong", 0},
                    {"algorithm", estimate.algorithm},
                    {"as_smaller", estimate.as_smaller},
                    {"protocol", estimate.protocol},
                    {"channels", estimate.channels},
                    {"path", estimate.path},
                    {"narrowest_link", estimate.narrowest_link},
                    {"relative_error", estimate.relative_error}});
  }
  return {{"on", machine.name}, {"predicted", true}, {"assumed", assumed(options, machine)}, {"rows", list}};
}

Sentence comment(const std::string& text) { return {"# " + text, "", "#   "}; }

Table prices_table(const std::vector<PricedRow>& rows) {
  Table table{.rows = {{"backend", "bytes", "us", "+- %", "algbw", "busbw", "algo", "proto", "ch."}},
              .left = 1};
  for (const PricedRow& row : rows)
    table.rows.push_back(
        {to_string(row.backend), fmt::to_string(row.bytes), microseconds(row.estimate.time),
         fmt::format("{:.0f}", 100 * row.estimate.relative_error), fmt::format("{:.2f}", algbw(row)),
         fmt::format("{:.2f}", row.busbw), row.estimate.algorithm + (row.estimate.as_smaller ? "*" : ""),
         row.estimate.protocol, row.estimate.channels > 0 ? fmt::to_string(row.estimate.channels) : "-"});
  return table;
}

Curves prices_curves(const std::vector<PricedRow>& rows) {
  Curves curves = bandwidth_curves();
  for (const PricedRow& row : rows) {
    const auto name = to_string(row.backend);
    if (curves.series.empty() || curves.series.back().name != name)
      curves.series.push_back({.name = name, .points = {}});
    curves.series.back().points.emplace_back(static_cast<double>(row.bytes), row.busbw);
  }
  return curves;
}

Report prices_report(const PriceOptions& options, const Machine& machine,
                     const std::vector<PricedRow>& rows) {
  Report report;
  report.data = prices_json(options, machine, rows);
  report.add(comment(fmt::format("{} on {}: {} GPUs of {} on {} node{}; predicted, not measured; GB/s",
                                 name_of(options.collective), machine.name, machine.gpus.size(),
                                 machine.gpu.id, machine.nodes, machine.nodes == 1 ? "" : "s")));
  for (const std::string& note : assumed(options, machine))
    report.add(comment(note.starts_with("measured") ? note : "assumed: " + note));
  for (std::size_t i = 0; i < rows.size(); ++i)
    if (i + 1 == rows.size() || rows[i + 1].backend != rows[i].backend)
      report.add(comment(fmt::format("{}: over {}; narrowest: {}", to_string(rows[i].backend),
                                     rows[i].estimate.path, rows[i].estimate.narrowest_link)));
  report.add(prices_table(rows));
  if (std::ranges::any_of(rows, [](const PricedRow& row) { return row.estimate.as_smaller; }))
    report.add(
        comment("*: as long as the largest buffer of the algorithm before it. The one named takes less by "
                "itself, but no buffer "
                "is priced below a smaller one (docs/nccl-model.md)"));
  for (const Backend backend : options.backends)
    report.add(comment(fmt::format("+- of {}: {}", to_string(backend),
                                   basis(backend, !options.costs.empty(), !options.measured.empty()))));
  Curves curves = prices_curves(rows);
  if (options.plot && curves.series.front().points.size() > 1) report.add(Gap{}, std::move(curves));
  return report;
}

}  // namespace

int price_bench(const PriceOptions& options) {
  check_costs(options);
  Machine machine = find_machine(options.on);
  apply_measured(machine, options.measured, options.nccl);
  if (options.ranks > 0) machine = with_gpus(std::move(machine), options.ranks);
  if (machine.gpus.size() < 2)
    throw ConfigError(fmt::format("{} has {} GPU: a collective needs two", options.on,
                                  machine.gpus.empty() ? "no" : "one"));
  Report report = prices_report(options, machine, price(options, machine));
  show(report, options.json);
  if (options.html.empty()) return 0;
  PageData page = plain_page("bench", fmt::format("{} on {}", name_of(options.collective), machine.name),
                             std::move(report));
  page.topologies.push_back(drawn_topology(machine, Loads::of_nccl, options.nccl));
  write_html(options.html, std::move(page));
  return 0;
}

}  // namespace gradwire
