// `gradwire analyze FILES...`: where the time of a run's steps went, from the traces it left.
#pragma once

#include <CLI/CLI.hpp>

namespace gradwire {

void add_analyze_verb(CLI::App& app, int& exit_code);

}  // namespace gradwire
