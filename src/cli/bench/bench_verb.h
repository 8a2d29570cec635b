// `gradwire bench COLLECTIVE -n N --backend A,B`: measures collectives.
#pragma once

#include <CLI/CLI.hpp>

namespace gradwire {

// Also adds the hidden verb `bench-rank`, which is what its rank processes run.
void add_bench_verb(CLI::App& app, int& exit_code);

}  // namespace gradwire
