// What a training record says, as the step model takes it. Where a record is silent, the usual is assumed;
// each such rule is a comment in training_setup.cpp.
#pragma once

#include "predict/records/record.h"
#include "predict/step/on_machine.h"
#include "predict/workload/workload.h"

namespace gradwire {

struct TrainingSetup {
  Machine machine;
  NcclSettings settings;
  StepOptions options;
  double samples = 0;  // of a step over all GPUs
};

// `anchor` may be null: then computing comes from the roofline. Throws ConfigError when the machine can't be.
TrainingSetup training_setup(const Record&, const TrainingValue&, const TrainingValue* anchor);

Workload training_workload(const Record&);

// What stands in where the record is silent, a sentence each: of the machine, the model and the run.
std::vector<std::string> training_assumptions(const Record&, const TrainingValue&, const Workload&,
                                              const TrainingSetup&);

}  // namespace gradwire
