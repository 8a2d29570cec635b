// How fast the reductions are on one core, beside memcpy. bytes_per_second counts one buffer, so for
// "both = a + b" it is the bus bandwidth a process gets on its half of an all-reduce between two ranks.
#include <benchmark/benchmark.h>

#include <cstdint>
#include <cstring>
#include <string>
#include <vector>

#include "comm/kernels/kernels.h"

namespace gradwire {
namespace {

// Buffers in memory of their own, written once so that no page fault is timed; 17 pages further apart than
// they are long, because some processors confuse addresses that differ by a large power of two.
class Buffers {
 public:
  Buffers(std::size_t count, std::size_t bytes)
      : spacing_((bytes + 4095) / 4096 * 4096 + 17 * 4096), memory_(count * spacing_ + 4096, std::byte{1}) {}

  std::byte* at(std::size_t index) {
    std::byte* page = memory_.data() + -reinterpret_cast<std::uintptr_t>(memory_.data()) % 4096;
    return page + index * spacing_;
  }

 private:
  std::size_t spacing_;
  std::vector<std::byte> memory_;
};

void memory_copy(benchmark::State& state) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Buffers buffers(2, bytes);
  for (auto _ : state) {
    std::memcpy(buffers.at(0), buffers.at(1), bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

struct Kernel {
  Isa isa;
  DType dtype;
  Reduction reduction;
  std::size_t sources, destinations;  // the destinations are the first sources
};

std::string name_of(const Kernel& kernel) {
  return std::string(name_of(kernel.isa)) + " " + std::string(name_of(kernel.dtype)) + " " +
         std::string(name_of(kernel.reduction)) + " " + std::to_string(kernel.sources) + "->" +
         std::to_string(kernel.destinations);
}

void reduction(benchmark::State& state, Kernel kernel) {
  const auto bytes = static_cast<std::size_t>(state.range(0));
  Buffers buffers(kernel.sources, bytes);
  std::vector<const std::byte*> sources;
  std::vector<std::byte*> destinations;
  for (std::size_t i = 0; i < kernel.sources; ++i) sources.push_back(buffers.at(i));
  for (std::size_t i = 0; i < kernel.destinations; ++i) destinations.push_back(buffers.at(i));
  // Zeros stay zeros: no sum of a long run ends in infinities, whose speed may differ.
  for (std::size_t i = 0; i < kernel.sources; ++i) std::memset(buffers.at(i), 0, bytes);
  for (auto _ : state) {
    combine(kernel.isa, kernel.dtype, kernel.reduction, sources, destinations, bytes);
    benchmark::ClobberMemory();
  }
  state.SetBytesProcessed(state.iterations() * state.range(0));
}

void with_sizes(benchmark::internal::Benchmark* benchmark) {
  for (const std::int64_t bytes : {4, 1 << 10, 12 << 10, 128 << 10, 1 << 20, 16 << 20, 64 << 20})
    benchmark->Arg(bytes);
  benchmark->MinTime(0.1);
}

void register_all() {
  with_sizes(benchmark::RegisterBenchmark("memcpy", memory_copy));
  for (const Isa isa : {Isa::scalar, Isa::avx2, Isa::avx512}) {
    if (!runs_here(isa)) continue;
    for (const DType dtype : {DType::f32, DType::f16, DType::bf16, DType::i32})
      for (const Reduction how : {Reduction::sum, Reduction::avg, Reduction::max})
        for (const auto& [sources, destinations] : {std::pair{2, 2}, {2, 1}, {4, 4}}) {
          const Kernel kernel{isa, dtype, how, static_cast<std::size_t>(sources),
                              static_cast<std::size_t>(destinations)};
          with_sizes(benchmark::RegisterBenchmark(name_of(kernel).c_str(), reduction, kernel));
        }
  }
}

}  // namespace
}  // namespace gradwire

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  gradwire::register_all();
  benchmark::RunSpecifiedBenchmarks();
}
