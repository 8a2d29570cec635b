#include "predict/step/measured.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace gradwire {
namespace {

std::function<Seconds(Bytes)> at(Curve curve) {
  return [curve = std::make_shared<const Curve>(std::move(curve))](Bytes bytes) { return curve->at(bytes); };
}

}  // namespace

Wires measured_wires(const Sweep& sweep, const Sweep* processor) {
  auto curve = fit_curve(sweep.samples);
  Wires wires;
  wires.ranks = sweep.ranks;
  wires.relative_error = curve.error().mean;
  wires.algorithm = wires.path = sweep.backend;
  wires.narrowest_link = "as measured";
  wires.all_reduce = at(std::move(curve));
  wires.processor = processor ? at(fit_curve(processor->samples)) : wires.all_reduce;
  return wires;
}

// 91 GFLOP/s is one core's share of a 1024^3 product with OpenBLAS, 12 GB/s what it streams: measured on the
// machine of docs/performance.md. A step anchored on a measurement hardly depends on either.
Gpu one_core() {
  Gpu core;
  core.id = core.name = "cpu";
  core.fp32_flops = core.tf32_flops = core.fp16_flops = core.bf16_flops = 91e9;
  core.memory_bytes_per_s = 12e9;
  return core;
}

Sweep read_sweep(const std::filesystem::path& file, std::string_view backend) {
  std::vector<Sweep> found;
  std::vector<std::string> names;
  try {
    for (auto& sweep : read_sweeps(read_file(file)))
      if (sweep.collective == Collective::all_reduce) found.push_back(std::move(sweep));
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", file.string(), error.what()));
  }
  for (const auto& sweep : found) names.push_back(sweep.backend);
  if (found.size() == 1 && backend.empty()) return found.front();
  for (auto& sweep : found)
    if (sweep.backend == backend) return sweep;
  throw ConfigError(fmt::format("{}: has all_reduce of {}; name one with --backend", file.string(),
                                names.empty() ? "no backend" : join(names, ", ")));
}

bool is_sweep(std::string_view on) { return on.ends_with(".json"); }

}  // namespace gradwire
