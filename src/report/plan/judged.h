// Which of several machines trains a split model faster, by how much and why: the answer of `compare` where
// DistributedDataParallel alone is not enough.
#pragma once

#include <string>
#include <vector>

#include "predict/compare/plan_gain.h"
#include "report/plan/plan.h"

namespace gradwire {

// Of the machines that hold the model the fastest against the slowest, each with the best of what was left open; one machine
// against links without limits.
struct JudgedPlans {
  std::string better, worse;  // "a link without limits" where there is one machine
  PlanGain gain = {};
  Sure sure = Sure::yes;
  std::string misfit = {};  // what does not fit, a clause without its end; empty: all that is compared fits
  std::string reason = {};
  bool saves = false;  // hours: it helps, and not by more of the same GPUs
  std::string sentence = {};
};

JudgedPlans judge_machines(const PlanQuestion&, const std::vector<PlannedMachine>&);

}  // namespace gradwire
