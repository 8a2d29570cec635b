// `gradwire train MODEL -n N`: trains a built-in model on ranks of its own.
#pragma once

#include <CLI/CLI.hpp>

namespace gradwire {

void add_train_verb(CLI::App& app, int& exit_code);

}  // namespace gradwire
