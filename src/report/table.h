// Tables and grids of a Report as text that fits a terminal. Trailing blanks are cut.
#pragma once

#include <string>

#include "report/report.h"

namespace gradwire {

std::string table_text(const Table&);  // columns as wide as their widest cell
std::string grid_text(const Grid&);    // cut into blocks of columns that fit
std::size_t grid_width(const Grid&);   // uncut

}  // namespace gradwire
