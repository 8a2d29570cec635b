#include "predict/step/recorded.h"

#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"

namespace gradwire {
namespace {

std::function<Seconds(Bytes)> at(Curve curve) {
  return [curve = std::make_shared<const Curve>(std::move(curve))](Bytes bytes) { return curve->at(bytes); };
}

std::vector<Sweep> all_reduces(const std::filesystem::path& file) {
  try {
    auto sweeps = read_sweeps(read_file(file));
    std::erase_if(sweeps, [](const Sweep& sweep) { return sweep.collective != Collective::all_reduce; });
    return sweeps;
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", file.string(), error.what()));
  }
}

}  // namespace

bool is_sweep(std::string_view on) { return on.ends_with(".json"); }

Sweep read_sweep(const std::filesystem::path& file, std::string_view backend, std::optional<int> ranks) {
  std::vector<std::string> there;
  std::vector<Sweep> fitting;
  for (auto& sweep : all_reduces(file)) {
    there.push_back(fmt::format("{} with {} ranks", sweep.backend, sweep.ranks));
    const bool fits = (backend.empty() || sweep.backend == backend) && (!ranks || sweep.ranks == *ranks);
    if (fits) fitting.push_back(std::move(sweep));
  }
  if (fitting.size() == 1) return fitting.front();
  throw ConfigError(fmt::format(
      "{}: it has all_reduce of {}; {}", file.string(), there.empty() ? "no backend" : join(there, ", "),
      fitting.empty() ? "none is what --backend and -n ask for" : "choose one with --backend and -n"));
}

Wires measured_wires(const Sweep& sweep) {
  auto curve = fit_curve(sweep.samples);
  Wires wires;
  wires.ranks = sweep.ranks;
  wires.relative_error = curve.error().mean;
  wires.algorithm = wires.path = sweep.backend;
  wires.way = "over " + wires.path;
  wires.narrowest_link = "as measured";
  wires.all_reduce = at(std::move(curve));
  wires.processor = at(fit_curve(sweep.processor));
  return wires;
}

}  // namespace gradwire
