// What a prediction costs: one configuration, a machine of 16,384 GPUs, and configurations a second in a
// sweep (a million of them is what people who buy machines ask for).
#include <benchmark/benchmark.h>

#include "predict/compare/compare.h"
#include "predict/workload/catalog.h"

namespace gradwire {
namespace {

StepOptions overlapping(int batch) {
  StepOptions options;
  options.batch = batch;
  options.overlap = true;
  return options;
}

// Machine, NCCL model, buckets, step: everything from the names.
void one_configuration(benchmark::State& state, const char* model_name, const char* on) {
  const StepModel model;
  for (auto _ : state) {
    const auto workload = build_model(model_name);
    benchmark::DoNotOptimize(estimate_step(workload, find_machine(on), overlapping(32), model).step);
  }
}
BENCHMARK_CAPTURE(one_configuration, resnet50_dgx_a100, "resnet50", "dgx-a100")
    ->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(one_configuration, gpt2_two_nodes, "gpt2", "2*dgx-h100@ndr")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(one_configuration, resnet50_16384_gpus, "resnet50", "2048*dgx-h100@ndr")
    ->Unit(benchmark::kMillisecond);

// Batches, buckets, accumulations and gradient types on one machine whose wires are known.
void sweep_configurations(benchmark::State& state, const char* model_name) {
  const StepModel model;
  const auto workload = build_model(model_name);
  const auto machine = find_machine("dgx-a100");
  const auto wires = wires_of(machine, Bytes{25} << 20);
  int i = 0;
  for (auto _ : state) {
    auto options = overlapping(1 + i % 256);
    options.accumulate = 1 + i % 8;
    options.buckets.rest = Bytes(1 + i % 100) << 20;
    options.gradient_bytes = i % 2 ? 2 : 4;
    ++i;
    benchmark::DoNotOptimize(estimate_step(workload, machine.gpu, wires, options, model).step);
  }
  state.counters["configurations"] =
      benchmark::Counter(double(state.iterations()), benchmark::Counter::kIsRate);
  state.counters["a_million_takes"] = benchmark::Counter(
      double(state.iterations()) / 1e6, benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(sweep_configurations, resnet50, "resnet50")->Unit(benchmark::kMicrosecond);
BENCHMARK_CAPTURE(sweep_configurations, bert_large, "bert-large")->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gradwire

BENCHMARK_MAIN();
