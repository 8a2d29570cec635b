#include "predict/step/training.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <span>

#include "base/error.h"
#include "predict/presets.h"
#include "predict/records/read.h"
#include "predict/step/other_slots.h"

namespace gradwire {
namespace {

const TrainingValue* find_anchor(const TrainingRecord& record, const TrainingValue& value) {
  std::vector<const TrainingValue*> anchors;
  for (const auto& one : record.values)
    if (one.anchor) anchors.push_back(&one);
  const auto with_link = [&](LinkSetting link) -> const TrainingValue* {
    const auto found =
        std::find_if(anchors.begin(), anchors.end(), [&](auto* one) { return one->link == link; });
    return found == anchors.end() ? nullptr : *found;
  };
  if (const auto* same = with_link(value.link)) return same;
  if (const auto* normal = with_link(LinkSetting::normal)) return normal;
  return anchors.empty() ? nullptr : anchors.front();
}

// A pair without an anchor rests on the GPU's data sheet alone.
void check_computes(const TrainingSetup& setup, const Record& record) {
  if (record.gpu.empty() && !setup.options.anchor)
    throw ConfigError("neither the GPU nor a step on one GPU (an anchor) is stated: one of them is needed");
}

TrainingCase make_case(const Record& record, const TrainingValue& value, const Workload& workload,
                       const Calibration& calibration, const StepModel& model) {
  const auto* anchor = find_anchor(*record.training, value);
  const auto setup = training_setup(record, value, anchor);
  check_computes(setup, record);
  const auto bytes = parameter_count(workload) * static_cast<Bytes>(setup.options.gradient_bytes);
  const auto wires_in = [&](const Machine& machine) {
    return wires_of(machine, std::min(bytes, setup.options.buckets.rest), setup.settings, calibration);
  };
  const auto problem_on = [&](const Wires& wires) {
    return make_problem(workload, setup.machine.gpu, wires, setup.options, model.constants, model.roofline);
  };
  const auto wires = wires_in(setup.machine);
  TrainingCase one{record.id,
                   record.platform,
                   {},
                   record.quality,
                   workload.family,
                   setup.options.distribution,
                   value.link,
                   anchor != nullptr,
                   value.samples_per_s,
                   setup.samples,
                   {},
                   {},
                   wires,
                   {},
                   {},
                   workload.name,
                   training_assumptions(record, value, workload, setup)};
  one.point = fmt::format("{} gpus {}", value.gpus, name_of(value.link));
  if (value.accumulate > 1) one.point += fmt::format(" accumulate {}", value.accumulate);
  if (value.distribution) one.point += " " + *value.distribution;
  one.partner = fmt::format("{} {} {} {} {} {}", record.id, value.nodes, value.gpus, value.accumulate,
                            value.batch_per_gpu.value_or(0), value.distribution.value_or(""));
  one.problem = problem_on(wires);
  one.plain = problem_on(alpha_beta_wires(setup.machine));
  if (const auto other = in_other_slots(setup.machine)) {
    auto there = wires_in(*other);
    one.elsewhere = WiredStep{problem_on(there), std::move(there)};
  }
  return one;
}

bool is_pair(const TrainingCase& with, const TrainingCase& without) {
  return with.partner == without.partner && with.link == LinkSetting::nvlink &&
         (without.link == LinkSetting::pcie || without.link == LinkSetting::no_p2p);
}

// Values from `first` on that nothing can be said of, each with the reason.
void note_unpredicted(std::size_t first, TrainingSet& set) {
  const std::span cases(set.cases.begin() + static_cast<std::ptrdiff_t>(first), set.cases.end());
  for (const auto& one : cases) {
    const auto pairs = [&](const auto& other) { return is_pair(one, other) || is_pair(other, one); };
    if (!one.anchored && std::none_of(cases.begin(), cases.end(), pairs))
      set.leave_out(one.id + " " + one.point, Unpredicted::no_anchor);
  }
}

void add_record(const Record& record, const Calibration& calibration, const StepModel& model,
                TrainingSet& set) {
  const auto workload = training_workload(record);
  const auto first = set.cases.size();
  const auto& values = record.training->values;
  if (std::all_of(values.begin(), values.end(), [](const auto& value) { return value.anchor; }))
    set.leave_out(record.id, Unpredicted::anchor_alone);
  for (const auto& value : values) {
    if (value.anchor) continue;
    try {
      set.cases.push_back(make_case(record, value, workload, calibration, model));
    } catch (const ConfigError& error) {
      set.leave_out(fmt::format("{} {} gpus {}", record.id, value.gpus, name_of(value.link)),
                    Unpredicted::refused, error.what());
    }
  }
  note_unpredicted(first, set);
}

// What everybody has in mind: computing, and all bytes at the link's rate with nothing hidden or added.
double plain_rate(const TrainingCase& one) {
  Seconds step =
      one.plain.options.accumulate * (one.plain.forward + one.plain.backward) + one.plain.optimizer;
  for (const auto& bucket : one.plain.buckets) step += bucket.time;
  return one.samples / step;
}

std::string scope_of(const TrainingCase& one) {
  const std::string family(to_string(one.family));
  return one.distribution == Distribution::tf_replicated ? family + " tf-replicated" : family;
}

// And the range that should hold eight of ten.
struct Predicted {
  double value, low, high;
};

Predicted predict_rate(const TrainingCase& one, const StepConstants& constants) {
  const auto estimate = solve(one.problem, constants);
  const double rate = one.samples / estimate.step, width = std::exp(std::asinh(estimate.relative_error));
  return {rate, rate / width, rate * width};
}

// As `compare` answers it.
Predicted predict_gain(const TrainingCase& with, const TrainingCase& without,
                       const StepConstants& constants) {
  GainQuestion question{{{with.problem, with.wires}, {without.problem, without.wires}}, {}, 0, constants};
  if (with.elsewhere && without.elsewhere)
    question.otherwise.push_back({*with.elsewhere, *without.elsewhere});
  if (!with.problem.options.anchor) question.computing_error = constants.error_roofline;
  const auto gain = link_gain(question);
  return {gain.speedup, gain.low, gain.high};
}

// A rate of `one`, or the ratio of its rate to another's.
ValidationPoint point_of(const TrainingCase& one, double measured, const Predicted& predicted) {
  ValidationPoint point;
  point.id = one.id;
  point.platform = point.group = one.platform;
  point.point = one.point;
  point.kind = RecordKind::training;
  point.quality = one.quality;
  point.measured = measured;
  point.predicted = predicted.value;
  point.low = predicted.low;
  point.high = predicted.high;
  point.scope = scope_of(one);
  point.assumed = one.assumed;
  return point;
}

}  // namespace

TrainingSet training_cases(const std::vector<Record>& records, const CalibrationOf& calibration_of,
                           const StepModel& model) {
  TrainingSet set;
  for (const auto& record : records) {
    if (!record.training) continue;
    try {
      add_record(record, calibration_of(record.platform), model, set);
    } catch (const ConfigError& error) {
      set.leave_out(record.id, Unpredicted::refused, error.what());
    }
  }
  return set;
}

std::vector<MeasuredStep> measured_steps(const TrainingSet& set) {
  std::vector<MeasuredStep> steps;
  for (const auto& one : set.cases)
    if (one.anchored && one.quality == Quality::ok)
      steps.push_back({one.problem, one.samples / one.measured, one.platform});
  return steps;
}

ConstantsByPlatform constants_without_each(const std::vector<Record>& records,
                                           const CalibrationOf& calibration_of) {
  ConstantsByPlatform constants;
  std::map<const Calibration*, std::vector<MeasuredStep>> known;  // many platforms share the shipped one
  for (const auto& record : records) {
    if (!record.training || constants.contains(record.platform)) continue;
    const auto& calibration = calibration_of(record.platform);
    auto& steps = known[&calibration];
    if (steps.empty())
      steps = measured_steps(
          training_cases(records, [&](const std::string&) -> const Calibration& { return calibration; }));
    constants[record.platform] = fit_without(steps, record.platform, fit_start());
  }
  return constants;
}

std::vector<Record> built_in_training_records() {
  return parse_records(step_preset_text("training.jsonl"), "presets/measured/training.jsonl");
}

std::vector<ValidationPoint> predict_training(const TrainingSet& set, const ConstantsByPlatform& constants,
                                              const StepConstants& otherwise) {
  std::vector<ValidationPoint> points;
  const auto constants_of = [&](const TrainingCase& one) -> const StepConstants& {
    const auto found = constants.find(one.platform);
    return found == constants.end() ? otherwise : found->second;
  };
  for (const auto& one : set.cases)
    if (one.anchored) {
      points.push_back(point_of(one, one.measured, predict_rate(one, constants_of(one))));
      points.back().alpha_beta = plain_rate(one);
    }
  for (const auto& with : set.cases)
    for (const auto& without : set.cases) {
      if (!is_pair(with, without)) continue;
      points.push_back(
          point_of(with, with.measured / without.measured, predict_gain(with, without, constants_of(with))));
      points.back().point += "/" + std::string(name_of(without.link));
      points.back().alpha_beta = plain_rate(with) / plain_rate(without);
      points.back().pair = true;
    }
  return points;
}

}  // namespace gradwire
