#include "predict/step/compute.h"

#include <algorithm>
#include <numeric>

#include "predict/presets.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

constexpr int kTensorCores = 70;    // compute capability x 10 that brought them
constexpr double kWinograd = 2.25;  // times fewer multiplications in a 3 x 3 convolution, tiles of 2 x 2

double bytes_of(Precision precision) { return is_mixed(precision) ? 2 : 4; }

// Convolutions with few channels and matrix products with few rows do not fill a GPU: with less than this
// work a kernel runs at a proportionally lower rate. 2^27 flops are about one wave of tiles on an 80-SM GPU.
double filled(double flops) {
  constexpr double kFull = 1 << 27;
  return std::min(1.0, 0.25 + 0.75 * flops / kFull);
}

std::array<double, 7> read_shares(const YamlMap& map) {
  std::array<double, 7> shares{};
  for (std::size_t i = 0; i < shares.size(); ++i)
    shares[i] = map.number(to_string(static_cast<LayerKind>(i)), {0.001, kWinograd});
  return shares;
}

}  // namespace

Roofline parse_roofline(std::string_view yaml, std::string_view where) {
  const auto root = parse_yaml(yaml, where);
  root.only({"plain", "tensor", "memory", "kernel_floor_us", "sources"});
  const auto plain = root.find_map("plain"), tensor = root.find_map("tensor");
  if (!plain) root.fail("plain", "a share of the peak for each kind of layer");
  if (!tensor) root.fail("tensor", "a share of the peak for each kind of layer");
  return {read_shares(*plain), read_shares(*tensor), root.number("memory", {0.01, 1}),
          root.number("kernel_floor_us", {0, 1000}) * 1e-6};
}

Roofline default_roofline() {
  return parse_roofline(step_preset_text("roofline.yaml"), "presets/roofline.yaml");
}

Seconds LayerTimes::total() const {
  return std::accumulate(backward.begin(), backward.end(),
                         std::accumulate(forward.begin(), forward.end(), 0.0));
}

void LayerTimes::scale(double factor) {
  for (auto* times : {&forward, &backward})
    for (auto& time : *times) time *= factor;
}

double sheet_flops(const Gpu& gpu, Precision precision) {
  switch (precision) {
    case Precision::fp32:
      return gpu.fp32_flops;
    case Precision::tf32:
      return gpu.tf32_flops;
    case Precision::fp16:
      return gpu.fp16_flops;
    default:
      return gpu.bf16_flops;
  }
}

Peak peak_of(const Gpu& gpu, Precision precision) {
  const bool cores = gpu.sm >= kTensorCores;
  if (precision == Precision::fp16 && gpu.fp16_flops > gpu.fp32_flops) return {gpu.fp16_flops, cores};
  if (precision == Precision::bf16 && gpu.bf16_flops > 0) return {gpu.bf16_flops, true};
  if (precision == Precision::bf16 && gpu.fp16_flops > 0) return {gpu.fp16_flops, cores};
  if (precision == Precision::tf32 && gpu.tf32_flops > gpu.fp32_flops) return {gpu.tf32_flops, true};
  return {gpu.fp32_flops, false};
}

LayerTimes layer_times(const Workload& workload, const Gpu& gpu, Precision precision, int batch,
                       const Roofline& roofline) {
  const auto peak = peak_of(gpu, precision);
  const auto& shares = peak.tensor ? roofline.tensor : roofline.plain;
  LayerTimes times;
  for (const auto& layer : workload.layers) {
    double weights = 0;
    for (const auto tensor : layer.tensors) weights += double(tensor);
    const double flops = layer.flops * batch;
    const double bytes = (layer.elements * batch + weights) * bytes_of(precision);
    const double arithmetic =
        flops / (peak.flops * shares[static_cast<std::size_t>(layer.kind)] * filled(flops));
    const double memory = bytes / (gpu.memory_bytes_per_s * roofline.memory);
    times.forward.push_back(std::max(arithmetic + memory, roofline.kernel_floor));
    times.backward.push_back(std::max(2 * (arithmetic + memory), roofline.kernel_floor));
  }
  return times;
}

}  // namespace gradwire
