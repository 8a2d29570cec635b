// What simulating costs: one configuration of a ring, rings of thousands of GPUs, step-by-step replay in
// flows a second, sharing of pipes by many flows, trees of many pieces.
#include <benchmark/benchmark.h>

#include "sched/algorithms.h"
#include "sim/network.h"
#include "sim/pipelined.h"
#include "sim/ring_estimate.h"
#include "sim/sharing.h"
#include "sim/simulate.h"

namespace gradwire {
namespace {

constexpr Pipe kLink{12.5e9, 1e-6};
constexpr Bytes kBytes = 1 << 30;

template <typename F>
std::vector<Plan> plans_of(int world, F make) {
  std::vector<Plan> plans;
  for (Rank rank = 0; rank < world; ++rank) plans.push_back(make_plan(make(rank)));
  return plans;
}

void ring_by_shortcut(benchmark::State& state) {
  const Network network =
      star(static_cast<int>(state.range(0)), kLink, ring_pairs(static_cast<int>(state.range(0))));
  for (auto _ : state)
    benchmark::DoNotOptimize(estimate_ring({kBytes, static_cast<int>(state.range(1))}, network));
}
BENCHMARK(ring_by_shortcut)
    ->ArgNames({"ranks", "cut"})
    ->Args({8, 1})
    ->Args({8, 64})
    ->Args({1024, 1})
    ->Args({16384, 1});

// From its name to the time of the ring.
void ring_of_a_machine(benchmark::State& state, const char* name) {
  for (auto _ : state) {
    const Machine machine = find_machine(name);
    const Network network = make_network(machine, ring_pairs(static_cast<int>(machine.gpus.size())));
    benchmark::DoNotOptimize(ring_time({kBytes, 1}, network));
  }
}
BENCHMARK_CAPTURE(ring_of_a_machine, 8 GPUs, "dgx-h100");
BENCHMARK_CAPTURE(ring_of_a_machine, 16384 GPUs, "2048*dgx-h100@ndr")->Unit(benchmark::kMillisecond);

void replay(benchmark::State& state, const std::vector<Plan>& plans) {
  const Network network = star(static_cast<int>(plans.size()), kLink, pairs_of(plans));
  const Chunks chunks = divide_evenly(plans[0].part.shape, kBytes);
  std::uint64_t flows = 0;
  for (auto _ : state) flows += simulate_time(plans, chunks, network).messages;
  state.counters["flows"] = benchmark::Counter(static_cast<double>(flows), benchmark::Counter::kIsRate);
}

void ring_step_by_step(benchmark::State& state) {
  const int world = static_cast<int>(state.range(0));
  replay(state, plans_of(world, [&](Rank me) { return ring_all_reduce(me, world); }));
}
BENCHMARK(ring_step_by_step)->Arg(8)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);

void all_to_all_step_by_step(benchmark::State& state) {
  const int world = static_cast<int>(state.range(0));
  replay(state, plans_of(world, [&](Rank me) { return direct_all_to_all(me, world); }));
}
BENCHMARK(all_to_all_step_by_step)->Arg(64)->Arg(512)->Unit(benchmark::kMillisecond);

void double_tree_of_many_pieces(benchmark::State& state) {
  const int world = static_cast<int>(state.range(0));
  const auto parts = [&](int cut) {
    std::vector<Part> made;
    for (Rank rank = 0; rank < world; ++rank) made.push_back(double_tree_all_reduce(rank, world, cut));
    return made;
  };
  const Network network = star(world, kLink, pairs_of(make_plans(parts(2))));
  for (auto _ : state) benchmark::DoNotOptimize(pipelined_time({parts, 16384, kBytes}, network));
}
BENCHMARK(double_tree_of_many_pieces)->Arg(8)->Arg(64)->Unit(benchmark::kMillisecond);

// Every pair of ranks on a star.
void fair_share_of_all_pairs(benchmark::State& state) {
  const int world = static_cast<int>(state.range(0));
  std::vector<std::vector<PipeId>> routes;
  for (const Pair pair : all_pairs(world)) routes.push_back({2 * pair.from, 2 * pair.to + 1});
  const std::vector<double> pipes(static_cast<std::size_t>(2 * world), 12.5e9);
  for (auto _ : state) benchmark::DoNotOptimize(fair_share(pipes, routes));
}
BENCHMARK(fair_share_of_all_pairs)->Arg(8)->Arg(64)->Unit(benchmark::kMicrosecond);

}  // namespace
}  // namespace gradwire

BENCHMARK_MAIN();
