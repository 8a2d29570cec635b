// The answer along one axis: more GPUs, larger batches, faster links. Values.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "predict/compare/compare.h"

namespace gradwire {

enum class Axis : std::uint8_t { gpus, batch, link };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<Axis> = {"gpus", "batch", "link"};

struct SweepSpec {
  Axis axis = Axis::gpus;
  std::vector<double> values;  // GPUs, samples, or GB/s
};

// "gpus=1..64" doubles, "batch=8,32,128" lists, "link=1..400" doubles GB/s. Throws ConfigError.
SweepSpec parse_sweep(std::string_view text);

struct SweepPoint {
  double value = 0;
  StepEstimate estimate;
  bool fits = true;  // the GPU's memory
};

// The sizes a machine can have: parts of a node, and whole ones where a network joins them.
struct Sizes {
  int gpus_per_node = 0;
  bool several_nodes = false;
};

struct SweepCurve {
  std::string on;
  std::vector<SweepPoint> points;  // values that a machine can't have are left out
  std::optional<Sizes> sizes;      // where some are
};

// Of an all-reduce over the one link of Axis::link, whatever its size.
constexpr Seconds kLinkLatency = 20e-6;

// Of each machine; with Axis::link, of each machine with all its links replaced by one of that bus bandwidth.
std::vector<SweepCurve> sweep(const Workload&, const std::vector<Machine>&, const StepOptions&,
                              const SweepSpec&, const StepModel& = {});

}  // namespace gradwire
