// What the engine itself costs a step: programs run on a fabric that does nothing, where every step ends as
// soon as it has started. The limit is 0.1 microseconds a step, seen in the counter "per_step".
#include <benchmark/benchmark.h>

#include <vector>

#include "sched/algorithms.h"
#include "sched/run.h"

namespace gradwire {
namespace {

// Ends steps in the order in which they start. Holds as many at a time as a run ever has under way.
class Nothing final : public Fabric {
 public:
  explicit Nothing(std::size_t steps) : open_(steps) {}
  void start(StepId id, const Step&) override { open_[tail_++] = id; }
  Event next() override { return {.step = open_[head_++]}; }
  void rewind() { head_ = tail_ = 0; }

 private:
  std::vector<StepId> open_;
  std::size_t head_ = 0, tail_ = 0;
};

template <typename F>
std::vector<Plan> plans_of(int world, F make) {
  std::vector<Plan> plans;
  for (Rank rank = 0; rank < world; ++rank) plans.push_back(make_plan(make(rank)));
  return plans;
}

void measure(benchmark::State& state, const std::vector<Plan>& plans, bool traced) {
  std::size_t steps = 0;
  for (const Plan& plan : plans) steps += plan.part.program.size();
  Nothing fabric(steps);
  Engine engine;
  Trace trace;
  for (auto _ : state) {
    fabric.rewind();
    trace.events.clear();
    engine.run(plans, fabric, traced ? &trace : nullptr);
  }
  state.counters["steps"] = static_cast<double>(steps);
  state.counters["per_step"] =
      benchmark::Counter(static_cast<double>(steps),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}

// My own part alone, as in a real collective.
void exchange_of_one_rank(benchmark::State& state) {
  measure(state, {make_plan(exchange_all_reduce(0, static_cast<int>(state.range(0))))}, false);
}
BENCHMARK(exchange_of_one_rank)->Arg(2)->Arg(8);

void ring_of_one_rank(benchmark::State& state) {
  measure(state, {make_plan(ring_all_reduce(0, 2, static_cast<int>(state.range(0))))}, false);
}
BENCHMARK(ring_of_one_rank)->Arg(1)->Arg(128);

// All ranks at once, as when a machine is modelled.
void ring_of_all_ranks(benchmark::State& state) {
  const int world = static_cast<int>(state.range(0));
  measure(state, plans_of(world, [&](Rank me) { return ring_all_reduce(me, world); }), state.range(1) != 0);
}
BENCHMARK(ring_of_all_ranks)->ArgNames({"ranks", "traced"})->Args({64, 0})->Args({64, 1})->Args({1024, 0});

void double_tree_of_all_ranks(benchmark::State& state) {
  const int world = static_cast<int>(state.range(0));
  measure(state, plans_of(world, [&](Rank me) { return double_tree_all_reduce(me, world, 64); }), false);
}
BENCHMARK(double_tree_of_all_ranks)->Arg(64)->Arg(1024);

// Finding out what waits for what, once for each program.
void make_the_plan(benchmark::State& state) {
  const Part part = ring_all_reduce(0, 64, 8);
  for (auto _ : state) benchmark::DoNotOptimize(make_plan(part));
  state.counters["per_step"] =
      benchmark::Counter(static_cast<double>(part.program.size()),
                         benchmark::Counter::kIsIterationInvariantRate | benchmark::Counter::kInvert);
}
BENCHMARK(make_the_plan);

}  // namespace
}  // namespace gradwire

BENCHMARK_MAIN();
