// `gradwire compare`: the answer, for a model or a trace, on machines the user may not own.
#pragma once

#include <CLI/CLI.hpp>

namespace gradwire {

void add_compare_verb(CLI::App& app, int& exit_code);

}  // namespace gradwire
