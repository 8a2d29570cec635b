// How long a GPU computes: each layer takes its arithmetic, at the share of the peak that kernels of its kind reach, and its
// memory traffic. Both, not the longer: what multiplies and what passes over activations are kernels of their own, one after
// another. Shares by kind, with their sources, are in presets/roofline.yaml.
#pragma once

#include <array>
#include <string_view>
#include <vector>

#include "predict/step/options.h"
#include "predict/workload/workload.h"
#include "topo/gpu.h"

namespace gradwire {

struct Roofline {
  // Share of the arithmetic peak, by kind of layer: on plain fp32 units, and on tensor cores. Above 1 where an algorithm does with
  // fewer multiplications than are counted.
  std::array<double, 7> plain{}, tensor{};
  double memory = 0;         // share of the memory bandwidth
  Seconds kernel_floor = 0;  // no kernel is shorter
};

Roofline parse_roofline(std::string_view yaml, std::string_view where);  // throws ConfigError
Roofline default_roofline();

struct LayerTimes {
  std::vector<Seconds> forward, backward;  // of a micro-batch, by layer
  Seconds total() const;
  void scale(double factor);
};

LayerTimes layer_times(const Workload&, const Gpu&, Precision, int batch, const Roofline&);

// Of the data sheet, of which narrower products than 16-bit ones are multiples. 0: not in hardware.
double sheet_flops(const Gpu&, Precision);

// The peak a precision uses on this GPU, and whether that is of tensor cores.
struct Peak {
  double flops = 0;
  bool tensor = false;
};
Peak peak_of(const Gpu&, Precision);

}  // namespace gradwire
