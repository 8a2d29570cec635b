#include "predict/compare/compare.h"

#include <fmt/format.h>

namespace gradwire {
namespace {

// A layer's `elements` counts what it reads and what it writes, so every activation about twice, and some of
// them are gone before backward. A third is what the measured runs of presets/measured/training.jsonl allow
// that were given the largest batch that fits: they then fill up to 0.93 of their GPU's memory.
constexpr double kKeptShare = 1.0 / 3;

double gibibytes(Bytes bytes) { return static_cast<double>(bytes) / (1 << 30); }

}  // namespace

Bytes state_bytes(const Workload& workload, const StepOptions& options, int ranks) {
  const Bytes state = optimizer_of(options, workload) == OptimizerKind::sgd ? 4 : 8;  // momentum; two moments
  const Bytes each = 4 + static_cast<Bytes>(options.gradient_bytes);
  return parameter_count(workload) * each +
         parameter_count(workload) * state / static_cast<Bytes>(options.zero1 ? ranks : 1);
}

Bytes activation_bytes(const Workload& workload, const StepOptions& options) {
  double elements = 0;
  for (const Layer& layer : workload.layers) elements += layer.elements;
  const int batch = options.batch > 0 ? options.batch : workload.batch;
  return static_cast<Bytes>(elements * batch * (is_mixed(options.precision) ? 2 : 4) * kKeptShare);
}

std::optional<std::string> find_memory_problem(const Workload& workload, const Machine& machine,
                                               const StepOptions& options) {
  const Bytes memory = machine.gpu.memory_bytes;
  const Bytes state = state_bytes(workload, options, static_cast<int>(machine.gpus.size()));
  const Bytes activations = activation_bytes(workload, options);
  if (memory == 0 || state + activations <= memory) return std::nullopt;
  if (state > memory)
    return fmt::format(
        "{} does not fit a GPU of {}: weights, gradients and optimizer take {:.0f} GiB, it has {:.0f}; times "
        "are as if "
        "it did",
        workload.name, machine.name, gibibytes(state), gibibytes(memory));
  return fmt::format(
      "a batch of {} of {} does not fit a GPU of {}: activations take over {:.0f} GiB and weights, gradients "
      "and "
      "optimizer {:.1f}, it has {:.0f}; times are as if it did",
      options.batch > 0 ? options.batch : workload.batch, workload.name, machine.name, gibibytes(activations),
      gibibytes(state), gibibytes(memory));
}

}  // namespace gradwire
