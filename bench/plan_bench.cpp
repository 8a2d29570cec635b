// What a plan costs: how many layouts a second are made, priced, sorted, and the best of them explained, from the name of
// a machine on. A search of ten thousand should stay below two seconds.
#include <benchmark/benchmark.h>

#include "predict/parallel/search.h"

namespace gradwire {
namespace {

void make_plans_on(benchmark::State& state, const char* model, const char* on, int batch) {
  PlanQuestion question;
  question.shape = transformer_sizes(model);
  question.batch = batch;
  int candidates = 0;
  for (auto _ : state) candidates = make_plans(question, find_machine(on)).candidates;
  state.counters["layouts"] = candidates;
  state.counters["ten_thousand_take"] =
      benchmark::Counter(double(state.iterations()) * candidates / 1e4,
                         benchmark::Counter::kIsRate | benchmark::Counter::kInvert);
}
BENCHMARK_CAPTURE(make_plans_on, one_node, "llama-7b", "dgx-h100", 64)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_plans_on, 32_gpus, "llama-70b", "4*dgx-h100@ndr", 256)->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_plans_on, 1024_gpus, "gpt3-175b", "128*dgx-h100@ndr", 4096)
    ->Unit(benchmark::kMillisecond);
BENCHMARK_CAPTURE(make_plans_on, mixture_on_1024_gpus, "qwen3-235b-a22b", "128*dgx-h100@ndr", 4096)
    ->Unit(benchmark::kMillisecond);

}  // namespace
}  // namespace gradwire

BENCHMARK_MAIN();
