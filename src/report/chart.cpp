#include "report/terminal.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <numeric>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::string_view kMarks = "*o+x#@%&$~=^!?";
constexpr int kMargin = 10;  // for the labels of the y axis

// A logarithmic axis of `cells` characters; a range of one value sits in the middle.
struct Axis {
  double low, high;
  int cells;

  int cell(double value) const {
    if (high <= low) return cells / 2;
    const double share = std::log(value / low) / std::log(high / low);
    return std::clamp(static_cast<int>(std::lround(share * (cells - 1))), 0, cells - 1);
  }
  double value(int index) const {
    return cells < 2 ? low : low * std::pow(high / low, index / (cells - 1.0));
  }
};

Axis make_axis(const std::vector<Series>& series, int cells,
               double (*get)(const std::pair<double, double>&)) {
  Axis axis{INFINITY, 0, cells};
  for (const auto& one : series)
    for (const auto& point : one.points)
      if (point.first > 0 && point.second > 0) {
        axis.low = std::min(axis.low, get(point));
        axis.high = std::max(axis.high, get(point));
      }
  return axis;
}

std::vector<std::string> plot(const std::vector<Series>& series, const Axis& x, const Axis& y) {
  std::vector<std::string> rows(y.cells, std::string(x.cells, ' '));
  for (std::size_t i = series.size(); i-- > 0;)
    for (const auto& [px, py] : series[i].points)
      if (px > 0 && py > 0) rows[y.cells - 1 - y.cell(py)][x.cell(px)] = kMarks[i % kMarks.size()];
  return rows;
}

std::string legend(const std::vector<Series>& series, int width) {
  std::string text, line;
  for (std::size_t i = 0; i < series.size(); ++i) {
    const std::string entry = fmt::format("  {} {}", kMarks[i % kMarks.size()], series[i].name);
    if (!line.empty() && kMargin + static_cast<int>(line.size() + entry.size()) > width) {
      text += fmt::format("{:>{}}{}\n", "", kMargin, line);
      line.clear();
    }
    line += entry;
  }
  return text + fmt::format("{:>{}}{}\n", "", kMargin, line);
}

std::string plain_number(double value) { return fmt::format("{:.3g}", value); }

// A part as long as its share, each at the place where the running sum puts its end, so that the whole is right.
std::string bar_text(const StackedBars& chart, const std::vector<double>& values, double cells_per_unit) {
  std::string text;
  double sum = 0;
  long drawn = 0;
  for (std::size_t i = 0; i < values.size(); ++i) {
    sum += values[i];
    for (const long end = std::lround(sum * cells_per_unit); drawn < end; ++drawn)
      text += chart.parts[i].mark;
  }
  return text;
}

}  // namespace

std::string draw_bars(const StackedBars& chart, std::size_t width) {
  double longest = 0;
  std::size_t label = 0;
  for (const auto& bar : chart.bars) {
    longest = std::max(longest, std::accumulate(bar.values.begin(), bar.values.end(), 0.0));
    label = std::max(label, bar.label.size());
  }
  const double cells = static_cast<double>(width - chart.name_width - label - 4);
  std::string text;
  for (const auto& bar : chart.bars) {
    const std::string drawn = longest > 0 ? bar_text(chart, bar.values, cells / longest) : "";
    const std::string line =
        fmt::format("{:{}}  {} {}", bar.name.substr(0, chart.name_width), chart.name_width, drawn, bar.label);
    text += line.substr(0, line.find_last_not_of(' ') + 1) + "\n";
  }
  std::vector<std::string> legend;
  for (const auto& part : chart.parts)
    if (part.in_legend) legend.push_back(part.mark + " " + part.name);
  return legend.empty() ? text : text + join(legend, "  ") + "\n";
}

std::string draw_curves(const Curves& curves, int width, int height) {
  const auto& series = curves.series;
  const Axis x = make_axis(series, width - kMargin - 2, [](const auto& p) { return p.first; });
  const Axis y = make_axis(series, height - 4, [](const auto& p) { return p.second; });
  if (x.high <= 0) return {};
  const auto format_x = curves.format_x ? curves.format_x : plain_number;
  const auto format_y = curves.format_y ? curves.format_y : plain_number;

  std::string text = curves.title + "\n";
  const auto rows = plot(series, x, y);
  for (int row = 0; row < y.cells; ++row) {
    const bool labelled = row == 0 || row == y.cells - 1 || row == y.cells / 2;
    text +=
        fmt::format("{:>{}} |{}\n", labelled ? format_y(y.value(y.cells - 1 - row)) : "", kMargin, rows[row]);
  }
  text += fmt::format("{:>{}} +{:-<{}}\n", "", kMargin, "", x.cells);
  const std::string last = format_x(x.high);
  text += fmt::format("{:>{}}{:<{}}{}\n", "", kMargin + 2, format_x(x.low),
                      x.cells - static_cast<int>(last.size()), last);
  return text + legend(series, width);
}

}  // namespace gradwire
