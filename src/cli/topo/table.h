// Small text tables that fit a terminal.
#pragma once

#include <string>
#include <vector>

namespace gradwire {

// Columns as wide as their widest cell; the first row is the heading. `left` columns are flush left, others
// right. Trailing blanks are cut.
std::string aligned(const std::vector<std::vector<std::string>>& rows, std::size_t left);

// A table with `rows` down and `columns` across, cut into blocks of columns that fit the terminal.
struct Grid {
  std::vector<std::string> rows, columns;
  std::vector<std::vector<std::string>> cells;  // [row][column]
};
std::string grid_text(const Grid&);
std::size_t grid_width(const Grid&);  // uncut

}  // namespace gradwire
