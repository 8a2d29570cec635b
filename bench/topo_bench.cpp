// What machines cost: finding one by name, building a node, a cluster of 16,384 GPUs, and routes on it.
#include <benchmark/benchmark.h>

#include "topo/machine.h"

namespace gradwire {
namespace {

void build_one_node(benchmark::State& state) {
  const NodeSpec node = find_machine("dgx-h100").node;
  for (auto _ : state) benchmark::DoNotOptimize(build_machine(node).gpus.size());
}
BENCHMARK(build_one_node)->Unit(benchmark::kMicrosecond);

void find_by_name(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(find_machine("4x-rtx4090-pcie-pxb").gpus.size());
}
BENCHMARK(find_by_name)->Unit(benchmark::kMicrosecond);

void build_2048_nodes(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(find_machine("2048*dgx-h100@ndr").gpus.size());
}
BENCHMARK(build_2048_nodes)->Unit(benchmark::kMillisecond);

void route_inside_a_node(benchmark::State& state) {
  const Machine machine = find_machine("2048*dgx-h100@ndr");
  for (auto _ : state) benchmark::DoNotOptimize(machine.topology.route(machine.gpus[0], machine.gpus[7]));
}
BENCHMARK(route_inside_a_node)->Unit(benchmark::kMicrosecond);

void route_between_nodes(benchmark::State& state) {
  const Machine machine = find_machine("2048*dgx-h100@ndr");
  for (auto _ : state) benchmark::DoNotOptimize(machine.topology.route(machine.gpus[0], machine.gpus[16000]));
}
BENCHMARK(route_between_nodes)->Unit(benchmark::kMicrosecond);

void route_a_ring_of_16384_gpus(benchmark::State& state) {
  const Machine machine = find_machine("2048*dgx-h100@ndr");
  for (auto _ : state)
    for (std::size_t i = 0; i < machine.gpus.size(); ++i)
      benchmark::DoNotOptimize(
          machine.topology.route(machine.gpus[i], machine.gpus[(i + 1) % machine.gpus.size()]));
}
BENCHMARK(route_a_ring_of_16384_gpus)->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gradwire

BENCHMARK_MAIN();
