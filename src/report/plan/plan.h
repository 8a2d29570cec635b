// What `gradwire plan` found, as a Report: the best way to split a model over each machine, the runners-up, what a GPU
// must hold, what each dimension sends and over which links, and what NVLink is worth.
#pragma once

#include <string>
#include <vector>

#include "predict/parallel/search.h"
#include "report/report.h"

namespace gradwire {

struct PlannedMachine {
  std::string on;  // as asked for
  int gpus = 1;
  PlanAnswer answer;
};

Report plan_report(const PlanQuestion&, const std::vector<PlannedMachine>&);

// The same as `compare` answers: the fastest machine against the slowest, each with the best of what was left open.
Report plan_comparison(const PlanQuestion&, const std::vector<PlannedMachine>&);

}  // namespace gradwire
