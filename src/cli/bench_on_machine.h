// `gradwire bench COLLECTIVE --on MACHINE`: the table nccl-tests should print there, from the model.
#pragma once

#include <string>
#include <vector>

#include "predict/backends/prices.h"

namespace gradwire {

struct BenchOnOptions {
  std::string on;
  int ranks = 0;  // 0: all of the machine
  PriceQuestion question = {};
  std::string costs = {};  // a file of `gradwire bench --json` to take the question's costs from
  std::string html = {};   // a file for the page; empty: none
  std::vector<std::string> measured = {};  // files of what was measured there
  bool json = false, plot = true;
};

// Prints the result and returns the exit code. Throws ConfigError.
int bench_on_machine(const BenchOnOptions&);

}  // namespace gradwire
