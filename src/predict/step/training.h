// Measured training records, each predicted from its one-GPU figure: throughput on n GPUs, and the ratio of a
// pair of runs that differ in their links alone. Nothing of a value's own answer enters its prediction.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "predict/calibration/constants.h"
#include "predict/records/record.h"
#include "predict/step/fit.h"
#include "predict/step/gain.h"
#include "predict/step/on_machine.h"
#include "predict/validation/collectives.h"
#include "predict/workload/workload.h"

namespace gradwire {

// A value of a record, ready to be predicted with any constants.
struct TrainingCase {
  std::string id, platform;
  std::string point;  // "8 gpus nvlink"
  Quality quality = Quality::ok;
  Family family = Family::cnn;
  Distribution distribution = Distribution::ddp;
  LinkSetting link = LinkSetting::normal;
  bool anchored = false;
  double measured = 0;                      // samples per second over all GPUs
  double samples = 0;                       // of a step over all GPUs
  StepProblem problem, plain;               // with the NCCL model's times, and with bytes / link rate
  Wires wires;                              // of the NCCL model
  std::optional<WiredStep> elsewhere = {};  // in the slots that it may have, where none are stated
  std::string partner;                      // equal for values that differ in their link alone
  std::string model;
  Assumed assumed;
};

struct TrainingSet {
  std::vector<TrainingCase> cases;
  std::map<std::string, Skipped> left_out;  // by id and point
  void leave_out(const std::string& what, Unpredicted why, const std::string& error = {}) {
    left_out[what] = {what, why, error};
  }
};

// The calibration of collectives that a platform is to be judged with: one that never saw it.
using CalibrationOf = std::function<const Calibration&(const std::string& platform)>;

TrainingSet training_cases(const std::vector<Record>&, const CalibrationOf&, const StepModel& = {});

// Cases with an anchor and of quality ok, as fits take them.
std::vector<MeasuredStep> measured_steps(const TrainingSet&);

// The constants each platform is to be judged with: fitted to the records of all others, whose collectives
// are taken from the calibration that this platform is judged with. So nothing measured there enters, neither
// steps nor sweeps.
using ConstantsByPlatform = std::map<std::string, StepConstants>;
ConstantsByPlatform constants_without_each(const std::vector<Record>&, const CalibrationOf&);

std::vector<Record> built_in_training_records();  // presets/measured/training.jsonl, compiled in

// Rates of all values with an anchor, and ratios of all pairs, with and without one. `constants` for the
// platforms named there, `otherwise` for all others.
std::vector<ValidationPoint> predict_training(const TrainingSet&, const ConstantsByPlatform& constants,
                                              const StepConstants& otherwise);

// What a training record says, as the step model takes it. Where a record is silent, the usual is assumed;
// each such rule is a comment in training_setup.cpp.
struct TrainingSetup {
  Machine machine;
  NcclSettings settings;
  StepOptions options;
  double samples = 0;  // of a step over all GPUs
};

// `anchor` may be null: then computing comes from the roofline. Throws ConfigError when the machine can't be.
TrainingSetup training_setup(const Record&, const TrainingValue&, const TrainingValue* anchor);

Workload training_workload(const Record&);

// What stands in where the record is silent: of the machine, the model and the run.
Assumed training_assumptions(const Record&, const TrainingValue&, const Workload&, const TrainingSetup&);

}  // namespace gradwire
