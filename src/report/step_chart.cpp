#include "report/step_chart.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <vector>

namespace gradwire {
namespace {

struct Row {
  char mark;
  const char* name;
  Seconds time;
};

// In the order in which they come in a step.
std::vector<Row> rows_of(const Breakdown& step) {
  return {{'D', "data", step.data},           {'F', "forward", step.forward},
          {'B', "backward", step.backward},   {'X', "communication exposed", step.comm_exposed},
          {'O', "optimizer", step.optimizer}, {'.', "other", step.other}};
}

std::string percent(Seconds part, Seconds whole) {
  return fmt::format("{:5.1f} %", whole > 0 ? part / whole * 100 : 0);
}

}  // namespace

std::string stacked_bar(const Breakdown& step, int width) {
  std::string bar;
  Seconds sum = 0;
  if (!(step.step() > 0)) return bar;
  for (const Row& row : rows_of(step)) {
    sum += row.time;  // where this part ends; ends are rounded, so that nothing adds up
    const auto end = std::lround(sum / step.step() * width);
    bar.resize(std::max<std::size_t>(bar.size(), static_cast<std::size_t>(end)), row.mark);
  }
  return bar;
}

std::string draw_step(const Breakdown& step, const StepChartOptions& options) {
  std::string text = fmt::format("{}\n  [{}]\n", options.title, stacked_bar(step, options.width - 4));
  for (const Row& row : rows_of(step))
    text += fmt::format("  {} {:<24}{:>10.3f} ms  {}\n", row.mark, row.name, row.time * 1e3,
                        percent(row.time, step.step()));
  text += fmt::format("    {:<24}{:>10.3f} ms  {}\n", "step", step.step() * 1e3,
                      percent(step.step(), step.step()));
  if (step.comm_overlapped + step.comm_exposed > 0)
    text += fmt::format("    {:<24}{:>10.3f} ms  under the above: {:.0f} % of all of it\n",
                        "communication hidden", step.comm_overlapped * 1e3, step.hidden_share() * 100);
  return text;
}

}  // namespace gradwire
