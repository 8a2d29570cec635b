// `gradwire run -n N -- PROGRAM`: starts any program as ranks.
#pragma once

#include <CLI/CLI.hpp>

namespace gradwire {

void add_run_verb(CLI::App& app, int& exit_code);

}  // namespace gradwire
