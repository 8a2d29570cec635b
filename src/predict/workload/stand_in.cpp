#include <cmath>

#include "base/error.h"
#include "predict/workload/catalog.h"

namespace gradwire {
namespace {

// The built-in model whose shape a stand-in takes.
std::string_view pattern_of(Family family) {
  return family == Family::cnn ? "resnet101" : family == Family::transformer ? "bert-large" : "bert-base";
}

// Tensors and work grow in proportion; the remainder of rounding goes to the largest tensor of the last
// layer.
void scale(std::vector<Layer>& layers, std::uint64_t from, std::uint64_t to) {
  const double factor = double(to) / double(from);
  std::uint64_t sum = 0;
  std::uint64_t* last = nullptr;
  for (auto& layer : layers) {
    layer.flops *= factor;
    layer.elements *= std::sqrt(factor);
    for (auto& tensor : layer.tensors) {
      tensor = static_cast<std::uint64_t>(double(tensor) * factor);
      sum += tensor;
      if (!last || tensor > *last) last = &tensor;
    }
  }
  check(last && sum <= to + layers.size(), "a scaled model has its parameters");
  *last += to - sum;
}

}  // namespace

Workload build_stand_in(const StandIn& what) {
  if (what.parameters < 1000 || what.parameters > 100'000'000'000'000)
    throw ConfigError("a model of " + std::to_string(what.parameters) +
                      " parameters: write 1000 to 100000000000000");
  const auto pattern = what.like.empty() ? pattern_of(what.family) : what.like;
  auto workload = build_model(pattern, what.sequence);
  scale(workload.layers, parameter_count(workload), what.parameters);
  workload.name = what.name;
  workload.title = what.name + ", a stand-in scaled from " + std::string(pattern);
  workload.family = what.family;
  workload.sample = what.sample;
  workload.source = "parameter count alone";
  workload.stand_in = true;
  return workload;
}

}  // namespace gradwire
