// What always recording costs a call.
#include <benchmark/benchmark.h>

#include "comm/flight_recorder.h"

namespace gradwire {
namespace {

void record_call(benchmark::State& state) {
  FlightRecorder recorder;
  Signature call{.bytes = 4096, .kind = Collective::all_reduce};
  for (auto _ : state) {
    recorder.begin(call);
    recorder.end(FlightState::completed);
    ++call.sequence;
  }
}
BENCHMARK(record_call);

}  // namespace
}  // namespace gradwire

BENCHMARK_MAIN();
