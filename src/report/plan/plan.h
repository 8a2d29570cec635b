// What `gradwire plan` found, as a Report: the best way to split a model over each machine, the runners-up, what a GPU
// must hold, what each dimension sends and over which links, and what NVLink is worth.
#pragma once

#include <string>
#include <vector>

#include "predict/parallel/search.h"
#include "report/report.h"

namespace gradwire {

struct PlannedMachine {
  Machine machine;  // with its name as asked for
  PlanAnswer answer;
  const std::string& on() const { return machine.name; }
  int gpus() const { return static_cast<int>(machine.gpus.size()); }
  const PlannedStep& best() const { return answer.plans.front(); }
};

// The same machines under other names: those of files without their folders, for people.
std::vector<PlannedMachine> renamed(std::vector<PlannedMachine>, const std::vector<std::string>& names);

// "the environment sets NCCL_P2P_DISABLE=1: ...": a sentence, where that changes a price.
void add_nccl_environment(Report&, const NcclSettings&);

// How long computing takes: as a step was measured; empty where none was.
std::string measured_computing(const PlanQuestion&, const PlannedStep&);

// "bf16", and that nobody asked for it, where nobody did.
std::string precision_words(const PlanQuestion&, Precision);

// What would make a model fit, in sentences without a full stop; nothing where it does.
std::vector<std::string> advice_of(const PlanQuestion&, const PlannedMachine&);

std::string what_is_sent(const PlanTraffic&);  // "tensor parallelism", "gradients"
std::string time_or_none(Seconds);             // "12.3 ms"; "none" of nothing

nlohmann::json plan_json(const PlannedStep&);  // one of `plans`

// What a GPU holds under its best plan, and what that sends over which links.
void add_memory_and_traffic(Report&, const PlannedMachine&);

Report plan_report(const PlanQuestion&, const std::vector<PlannedMachine>&);

// The same as `compare` answers: of the machines that hold the model the fastest against the slowest, each with the best of
// what was left open, which it says, and what of a step makes the difference; one machine against links without limits.
Report plan_comparison(const PlanQuestion&, const std::vector<PlannedMachine>&);

// The same of one layout as `train --on` says a step: in train's names, with where its time goes.
Report plan_step_report(const PlanQuestion&, const PlannedMachine&);

}  // namespace gradwire
