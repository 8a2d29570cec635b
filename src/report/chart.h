// Curves in a terminal: several series of points on logarithmic axes, each with a mark of its own and a
// legend. Values in, text out.
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace gradwire {

struct Series {
  std::string name;
  std::vector<std::pair<double, double>> points;  // x and y above 0; others are left out
};

struct ChartOptions {
  std::string title;
  int width = 78, height = 14;  // of the whole, in characters
  std::string (*format_x)(double) = nullptr;
  std::string (*format_y)(double) = nullptr;
};

// Empty when there is nothing to draw. Where two curves meet, the earlier series is on top.
std::string draw_chart(const std::vector<Series>&, const ChartOptions&);

}  // namespace gradwire
