// `gradwire validate FILE...`: predictions against measured records.
#pragma once

#include <CLI/CLI.hpp>

namespace gradwire {

void add_validate_verb(CLI::App& app, int& exit_code);

}  // namespace gradwire
