#include "cli/bench_on_machine.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/files.h"
#include "cli/flags.h"
#include "report/page/topology.h"
#include "report/prices.h"
#include "report/render.h"

namespace gradwire {
namespace {

// A file that nobody reads is a slip.
MeasuredCosts read_costs(const BenchOnOptions& options) {
  if (options.costs.empty()) return {};
  const auto& backends = options.question.backends;
  if (std::ranges::none_of(backends, [](Backend one) { return one != Backend::nccl; }))
    throw ConfigError(
        fmt::format("--costs {}: nccl has a model of its own; name what was measured, as in --backend gloo",
                    options.costs));
  return {options.costs, read_file(options.costs)};
}

Machine asked_machine(const BenchOnOptions& options) {
  Machine machine = find_machine(options.on);
  apply_measured(machine, options.measured, options.question.nccl);
  if (options.ranks > 0) machine = with_gpus(std::move(machine), options.ranks);
  if (machine.gpus.size() < 2)
    throw ConfigError(fmt::format("{} has {} GPU: a collective needs two", options.on,
                                  machine.gpus.empty() ? "no" : "one"));
  return machine;
}

}  // namespace

int bench_on_machine(const BenchOnOptions& options) {
  PriceQuestion question = options.question;
  question.costs = read_costs(options);
  const Machine machine = asked_machine(options);
  Report report = prices_report(question, machine, price_bench(question, machine), options.plot);
  show(report, options.json);
  if (options.html.empty()) return 0;
  PageData page = plain_page("bench", fmt::format("{} on {}", name_of(question.collective), machine.name),
                             std::move(report));
  page.topologies.push_back(drawn_topology(machine, Loads::of_nccl, question.nccl));
  write_html(options.html, std::move(page));
  return 0;
}

}  // namespace gradwire
