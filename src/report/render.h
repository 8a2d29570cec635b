// A Report as people read it in a terminal and as programs parse it.
#pragma once

#include <string>

#include "report/report.h"

namespace gradwire {

std::string to_text(const Report&);  // at most 80 columns, ending in a line end
std::string to_text(const Block&);
std::string to_json(const Report&);  // one object, ending in a line end

// Numbers that are not whole with nine digits, as everything that is printed has them: the last digits of a double
// depend on whose mathematics a program was linked with, and no model is that exact.
nlohmann::json rounded(nlohmann::json);

// What `--json` decides, on standard output.
void show(const Report&, bool json);

}  // namespace gradwire
