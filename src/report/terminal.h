// Pieces of a Report as text that fits a terminal: prose, tables, pictures. Values in, text out.
#pragma once

#include <string>
#include <string_view>

#include "base/text.h"
#include "report/report.h"

namespace gradwire {

// wrap() for a terminal, the second and later lines indented, with an end to the last.
std::string wrapped(std::string_view text, std::size_t indent);

// Trailing blanks are cut.
std::string table_text(const Table&);  // columns as wide as their widest cell
std::string grid_text(const Grid&);    // cut into blocks of columns that fit
std::size_t grid_width(const Grid&);   // uncut

// Curves on logarithmic axes. Each series with a mark of its own and a legend. Empty when there is nothing to draw. Where two curves meet, the
// earlier series is on top.
std::string draw_curves(const Curves&, int width = 78, int height = 14);

// Each bar on a line of its own behind its name, in one scale, and a legend.
std::string draw_bars(const StackedBars&, std::size_t width = kTerminalWidth);

}  // namespace gradwire
