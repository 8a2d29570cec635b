#include "report/step_chart.h"

#include <fmt/format.h>

#include <nlohmann/json.hpp>

#include "base/units.h"

namespace gradwire {
namespace {

struct StepPart {
  const char* mark;
  const char* name;
  Seconds time;
};

// In the order in which they come in a step.
using StepPartList = std::vector<StepPart>;

StepPartList parts_of(const Breakdown& step) {
  return {{"D", "data", step.data},           {"F", "forward", step.forward},
          {"B", "backward", step.backward},   {"X", "communication exposed", step.comm_exposed},
          {"O", "optimizer", step.optimizer}, {".", "other", step.other}};
}

StepPartList parts_of(const Breakdown& step, Seconds slowed) {
  auto parts = parts_of(step);
  parts[2].time -= slowed;
  parts.insert(parts.begin() + 3, {"~", "slowed by collectives", slowed});
  return parts;
}

std::string in_ms(Seconds time) { return fmt::format("{:.3f} ms", time * 1e3); }

StackedBars bar_of(const StepPartList& parts) {
  StackedBars chart;
  chart.bars.emplace_back();
  for (const StepPart& part : parts) {
    chart.parts.push_back({part.mark, part.name, false});
    chart.bars.back().values.push_back(part.time);
  }
  return chart;
}

void add_parts(Report& report, const std::string& title, const StepPartList& parts, Seconds step) {
  const auto share = [&](Seconds time) { return format_percent(step > 0 ? time / step : 0); };
  Table table{.rows = {}, .left = 3};
  for (const StepPart& part : parts)
    table.rows.push_back({"", part.mark, part.name, in_ms(part.time), share(part.time)});
  table.rows.push_back({"", "", "step", in_ms(step), share(step)});
  report.add(Title{title}, bar_of(parts), std::move(table));
}

}  // namespace

void add_slowed_step(Report& report, const std::string& title, const Breakdown& step, Seconds slowed) {
  add_parts(report, title, parts_of(step, slowed), step.step());
}

void add_step(Report& report, const std::string& title, const Breakdown& step) {
  add_parts(report, title, parts_of(step), step.step());
  if (step.comm_overlapped + step.comm_exposed > 0)
    report.add(Sentence{fmt::format("communication hidden under the above: {}, {:.0f} % of all of it",
                                    in_ms(step.comm_overlapped), step.hidden_share() * 100),
                        "     "});
}

nlohmann::json breakdown_json(const Breakdown& parts) {
  return {{"data", parts.data * 1e3},
          {"forward", parts.forward * 1e3},
          {"backward", parts.backward * 1e3},
          {"comm_overlapped", parts.comm_overlapped * 1e3},
          {"comm_exposed", parts.comm_exposed * 1e3},
          {"optimizer", parts.optimizer * 1e3},
          {"other", parts.other * 1e3}};
}

}  // namespace gradwire
