// What shells read to complete a command line of gradwire. Text out of values.
#pragma once

#include <string>

#include "cli/describe/words.h"

namespace gradwire {

std::string bash_completion(const ProgramWords& program);  // for share/bash-completion/completions/gradwire
std::string zsh_completion(const ProgramWords& program);   // for a folder of $fpath, as _gradwire
std::string fish_completion(const ProgramWords& program);  // for share/fish/vendor_completions.d

}  // namespace gradwire
