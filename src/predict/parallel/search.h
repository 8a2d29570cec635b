// The best way to split a model over a machine: every layout that makes sense is priced and its memory counted; those
// that fit come first, the fastest in front. Also what NVLink is worth for each, and, where nothing fits, what would
// make it fit. Pure functions of values; ten thousand layouts take a third of a second at most (bench/plan_bench.cpp).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/parallel/advice.h"
#include "predict/parallel/candidates.h"
#include "predict/parallel/memory.h"
#include "predict/parallel/price.h"
#include "topo/machine.h"

namespace gradwire {

enum class TrafficKind : std::uint8_t { tensor, pipeline, experts, replicas };

// What one dimension of a layout sends in a step, and which way.
struct PlanTraffic {
  TrafficKind kind;
  bool gathers = false;  // replicas: parameters too, not gradients alone
  std::optional<Way> way;
  Seconds time = 0;  // of all its collectives or messages on the longest way through a step, hidden or not
  Seconds shown = 0;
  NcclDoubt doubt;  // of that time
};

struct PlannedStep {
  ParallelLayout layout;
  PlanParts parts;
  Seconds step = 0, low = 0, high = 0;  // eight of ten such runs should lie between (doubted.h)
  double samples_per_s = 0;
  PlanMemory memory;
  bool fits = false;
  std::optional<double>
      nvlink_speedup;  // step without NVLink over step with it; absent: such GPUs have none, or no other way
  std::vector<PlanTraffic> traffic;
};

struct PlanAnswer {
  std::vector<PlannedStep> plans;  // best first; one of each tp, pp and shard
  int candidates = 0, fitting = 0;
  int batch = 0;
  double usable_bytes = 0;            // of a GPU
  std::optional<WouldFit> would_fit;  // where nothing fits: what would make it
};

// Throws ConfigError as layouts_on() does.
PlanAnswer make_plans(const PlanQuestion&, const Machine&, int most = 8,
                      const ParallelModel& = default_parallel_model());

// The machine without its NVLink, or with the NVLink that its GPUs can have; nothing where they can't have any, or nothing
// else joins them.
std::optional<Machine> with_nvlink_switched(const Machine&);
bool has_nvlink(const Machine&);

}  // namespace gradwire
