// `gradwire topo [--on MACHINE]`: what a machine is made of.
#pragma once

#include <CLI/CLI.hpp>

namespace gradwire {

void add_topo_verb(CLI::App& app, int& exit_code);

}  // namespace gradwire
