// The results of a benchmark as a Report: a table as nccl-tests prints it, bus bandwidth over size, who is faster.
#pragma once

#include <optional>
#include <string>

#include "measure/measure.h"
#include "report/report.h"

namespace gradwire {

// One backend against the fastest of the others, or of one family of them ("gloo"), and against the limit, by
// size: medians of each round's ratio.
struct Contest {
  std::string subject, against;
};

struct BenchView {
  bool curves = true;
  std::optional<Contest> contest = {};
};

Curves bandwidth_curves();  // their title and axes, without series

Report bench_report(const BenchOptions&, const Measurement&, const BenchView&);

}  // namespace gradwire
