// The results of a benchmark as people and programs read them.
#pragma once

#include <nlohmann/json.hpp>
#include <string>

#include "cli/bench/measure.h"

namespace gradwire {

std::string bench_table(const BenchOptions&,
                        const Measurement&);  // as nccl-tests prints it, a line per backend and size
std::string bench_chart(const BenchOptions&, const Measurement&);  // bus bandwidth over size
nlohmann::json bench_json(const BenchOptions&, const Measurement&);

// One backend against the fastest of the others, or of one family of them ("gloo"), and against the limit, by
// size: medians of each round's ratio.
struct Contest {
  std::string subject, against;
};
std::string bench_versus(const BenchOptions&, const Measurement&, const Contest&);

}  // namespace gradwire
