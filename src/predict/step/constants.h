// The few constants of the step model that no data sheet gives, each by class, fitted to measured training
// runs and kept in presets/step.yaml with their sources, apart from the rules in step.cpp. A value.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"

namespace gradwire {

struct StepConstants {
  // What a framework costs for each gradient tensor: hooks, copies into and out of buckets, bookkeeping.
  // On one rank already.
  double ddp_us_per_tensor = 0;
  // TensorFlow's one process starts an all-reduce for each gradient on each GPU: per tensor and log2(GPUs),
  // from GPU to GPU and through host memory.
  double replicated_us_per_tensor = 0, staged_us_per_tensor = 0;

  // Share of backward in which Horovod's all-reduces can hide, where a source does not say that they overlap.
  double hiding_horovod = 0;

  // Share of its pace that computing loses while a collective runs beside it: they share SMs and memory
  // bandwidth. By the way the data goes: GPU to GPU, or through host memory.
  double slowdown_direct = 0, slowdown_host = 0;

  // Ranks are never equally fast, and a step ends with the slowest. Spread of a rank's step, as a share of
  // it.
  double spread_share = 0;

  // What tf-replicated moves through host memory when GPUs have no peer access: bytes per second and socket,
  // in GB/s, shared by all GPUs.
  double replicated_host_gbps = 0;

  // Share of a step that DataParallel's scatter, replicate, gather and its one Python thread cost.
  double dataparallel_share = 0;

  // Memory traffic of a whole optimizer step in bytes a parameter, by kind.
  double sgd_bytes = 0, adam_bytes = 0, lamb_bytes = 0;

  // What eight of ten steps of one GPU differ from the roofline by, at most.
  double error_roofline = 0;

  bool operator==(const StepConstants&) const = default;
};

using StepConstant = std::pair<std::string_view, double StepConstants::*>;
std::vector<StepConstant> fitted_constants();  // those that fit() may change
std::vector<StepConstant> all_constants();

StepConstants parse_step_constants(std::string_view yaml, std::string_view where);  // throws ConfigError
StepConstants default_step_constants();                                             // of presets/step.yaml

}  // namespace gradwire
