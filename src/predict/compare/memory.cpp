#include "predict/compare/compare.h"

namespace gradwire {
namespace {

// A layer's `elements` counts what it reads and what it writes, so every activation about twice, and some of
// them are gone before backward. A third is what the measured runs of presets/measured/training.jsonl allow
// that were given the largest batch that fits: they then fill up to 0.93 of their GPU's memory.
constexpr double kKeptShare = 1.0 / 3;

}  // namespace

Bytes state_bytes(const Workload& workload, const StepOptions& options) {
  const Bytes state = optimizer_of(options, workload) == OptimizerKind::sgd ? 4 : 8;  // momentum; two moments
  return parameter_count(workload) * (4 + static_cast<Bytes>(options.gradient_bytes) + state);
}

Bytes activation_bytes(const Workload& workload, const StepOptions& options) {
  double elements = 0;
  for (const Layer& layer : workload.layers) elements += layer.elements;
  const int batch = options.batch > 0 ? options.batch : workload.batch;
  return static_cast<Bytes>(elements * batch * (is_mixed(options.precision) ? 2 : 4) * kKeptShare);
}

std::optional<Misfit> find_misfit(const Workload& workload, const Machine& machine,
                                  const StepOptions& options) {
  const Misfit need{workload.name,
                    {machine.name},
                    options.batch > 0 ? options.batch : workload.batch,
                    state_bytes(workload, options),
                    activation_bytes(workload, options),
                    machine.gpu.memory_bytes};
  if (need.memory == 0 || need.state + need.activations <= need.memory) return std::nullopt;
  return need;
}

}  // namespace gradwire
