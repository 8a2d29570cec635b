// Manual pages, in the language of man(7): one of the program, one of each verb. Text out of values.
#pragma once

#include <string>

#include "cli/describe/words.h"

namespace gradwire {

std::string man_page(const ProgramWords& program, const std::string& version);  // gradwire(1)
std::string man_page(const VerbWords& verb, const ProgramWords& program,
                     const std::string& version);  // gradwire-compare(1)

}  // namespace gradwire
