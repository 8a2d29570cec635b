// Pictures of a Report in a terminal: curves on logarithmic axes, bars beside each other. Values in, text out.
#pragma once

#include <string>

#include "report/report.h"
#include "report/wrap.h"

namespace gradwire {

// Each series with a mark of its own and a legend. Empty when there is nothing to draw. Where two curves meet, the
// earlier series is on top.
std::string draw_curves(const Curves&, int width = 78, int height = 14);

// Each bar on a line of its own behind its name, in one scale, and a legend.
std::string draw_bars(const StackedBars&, std::size_t width = kTerminalWidth);

}  // namespace gradwire
