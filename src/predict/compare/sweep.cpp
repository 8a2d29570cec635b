#include "predict/compare/sweep.h"

#include <fmt/format.h>

#include <cmath>
#include <cstdlib>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr double kMost = 1e6;

double parse_number(std::string_view text, std::string_view whole) {
  const std::string copy(trim(text));
  char* end = nullptr;
  const double value = std::strtod(copy.c_str(), &end);
  if (copy.empty() || *end != '\0' || !(value > 0 && value <= kMost))
    throw ConfigError(fmt::format("--sweep {}: '{}' is not a number from 1 to {:g}", whole, copy, kMost));
  return value;
}

std::vector<double> parse_values(std::string_view text, std::string_view whole) {
  std::vector<double> values;
  if (const auto dots = text.find(".."); dots != std::string_view::npos) {
    const double low = parse_number(text.substr(0, dots), whole),
                 high = parse_number(text.substr(dots + 2), whole);
    if (high < low) throw ConfigError(fmt::format("--sweep {}: write the smaller number first", whole));
    for (double value = low; value < high * 0.999; value *= 2) values.push_back(value);
    values.push_back(high);
    return values;
  }
  for (const auto part : split(text, ',')) values.push_back(parse_number(part, whole));
  return values;
}

// The first GPUs of one node, or whole nodes; nothing when the machine can't be that large.
std::optional<Machine> resized(const Machine& machine, int gpus) {
  const int node = machine.gpus_per_node();
  if (gpus <= node) return with_gpus(machine.nodes > 1 ? build_machine(machine.node, 1) : machine, gpus);
  if (gpus % node != 0 || (machine.nodes == 1 && !machine.network && !machine.node.network))
    return std::nullopt;
  auto larger = build_machine(machine.node, gpus / node, machine.network);
  larger.name = machine.name;
  return larger;
}

StepEstimate on_link(const Workload& workload, const Machine& machine, const StepOptions& options,
                     double gbps, const StepModel& model) {
  Wires wires;
  wires.ranks = static_cast<int>(machine.gpus.size());
  wires.all_reduce = alpha_beta(wires.ranks, gbps * 1e9, kLinkLatency);
  return estimate_step(workload, machine.gpu, wires, options, model);
}

std::optional<SweepPoint> at(const Workload& workload, const Machine& machine, StepOptions options, Axis axis,
                             double value, const StepModel& model) {
  const int whole = static_cast<int>(std::lround(value));
  if (axis == Axis::batch) options.batch = whole;
  const auto other = axis == Axis::gpus ? resized(machine, whole) : std::optional(machine);
  if (!other) return std::nullopt;
  return SweepPoint{value,
                    axis == Axis::link ? on_link(workload, machine, options, value, model)
                                       : contend(workload, *other, options, model).estimate,
                    !find_misfit(workload, *other, options)};
}

}  // namespace

SweepSpec parse_sweep(std::string_view text) {
  const auto equals = text.find('=');
  const auto axis = find_enumerator<Axis>(text.substr(0, equals));
  if (axis && equals != std::string_view::npos) return {*axis, parse_values(text.substr(equals + 1), text)};
  throw ConfigError(fmt::format("--sweep {}: write gpus=1..64, batch=8,32,128 or link=1..400", text));
}

std::vector<SweepCurve> sweep(const Workload& workload, const std::vector<Machine>& machines,
                              const StepOptions& options, const SweepSpec& spec, const StepModel& model) {
  std::vector<SweepCurve> curves;
  for (const auto& machine : machines) {
    SweepCurve curve{machine.name, {}, {}};
    for (const double value : spec.values)
      if (auto point = at(workload, machine, options, spec.axis, value, model))
        curve.points.push_back(std::move(*point));
    if (curve.points.size() < spec.values.size())
      curve.sizes = {machine.gpus_per_node(), machine.network || machine.node.network};
    curves.push_back(curve);
  }
  return curves;
}

}  // namespace gradwire
