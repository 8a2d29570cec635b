// The answer along one axis: more GPUs, larger batches, faster links. Values.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "predict/compare/compare.h"

namespace gradwire {

enum class Axis { gpus, batch, link };

struct SweepSpec {
  Axis axis = Axis::gpus;
  std::vector<double> values;  // GPUs, samples, or GB/s
};

// "gpus=1..64" doubles, "batch=8,32,128" lists, "link=1..400" doubles GB/s. Throws ConfigError.
SweepSpec parse_sweep(std::string_view text);
std::string_view to_string(Axis);

struct SweepPoint {
  double value = 0;
  StepEstimate estimate;
  bool fits = true;  // the GPU's memory
};

struct SweepCurve {
  std::string on;
  std::vector<SweepPoint> points;  // values that a machine can't have are left out
  std::string note;                // and why: "dgx-a100 has 8 GPUs; ..."; empty: none are
};

// What the values of an axis stand for, where that is not plain; empty: it is.
std::string assumption_of(Axis);

// Throws ConfigError when no machine can have any of the values.
// Of each machine; with Axis::link, of each machine with all its links replaced by one of that bus bandwidth.
std::vector<SweepCurve> sweep(const Workload&, const std::vector<Machine>&, const StepOptions&,
                              const SweepSpec&, const StepModel& = {});

}  // namespace gradwire
