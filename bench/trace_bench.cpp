// What recording a step costs: a span is two readings of the clock and one record.
#include <benchmark/benchmark.h>

#include "trace/recorder.h"

namespace gradwire {
namespace {

void record_span(benchmark::State& state) {
  Recorder recorder(1 << 16);
  std::size_t count = 0;
  for (auto _ : state) {
    if (++count % (1 << 16) == 0) recorder.clear();
    const Timed timed(&recorder, SpanKind::forward);
  }
}
BENCHMARK(record_span);

void record_bucket(benchmark::State& state) {
  Recorder recorder(1 << 16);
  std::size_t count = 0;
  for (auto _ : state) {
    if (++count % (1 << 16) == 0) recorder.clear();
    recorder.add_bucket(1, 1 << 20, {1, 2, 3});
  }
}
BENCHMARK(record_bucket);

}  // namespace
}  // namespace gradwire

BENCHMARK_MAIN();
