// The shares of a GPU's peaks that training reaches, from steps that were measured on one GPU, where nothing is sent.
// presets/roofline.yaml holds what is found; a test says how well it carries over to GPUs and models left out. Deterministic.
#pragma once

#include <string>
#include <vector>

#include "predict/records/record.h"
#include "predict/step/compute.h"

namespace gradwire {

struct OneGpuStep {
  std::string model;
  Workload workload;
  Gpu gpu;
  Precision precision = Precision::fp32;
  int batch = 1, accumulate = 1;
  Seconds optimizer = 0;  // as the step model counts it
  Seconds step = 0;       // measured
};

// Of quality ok, on GPUs that are known, of models that are built in.
std::vector<OneGpuStep> one_gpu_steps(const std::vector<Record>&);

// Logarithm of predicted over measured.
double log_error(const OneGpuStep&, const Roofline&);

// Means each error at most as a factor of two, so that a single wrong record does not decide.
Roofline fit_roofline(const std::vector<OneGpuStep>&, const Roofline& start);

// Where the fit begins: round shares, not the result of one.
Roofline roofline_start();

}  // namespace gradwire
