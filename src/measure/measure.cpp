#include "measure/measure.h"

#include <algorithm>
#include <atomic>
#include <chrono>
#include <cmath>
#include <thread>

#include "base/cpu.h"
#include "base/error.h"

namespace gradwire {
namespace {

constexpr Bytes kShortCall = 64 << 10;

SampleRequest request_for(const BenchOptions& options, Bytes bytes) {
  return {.collective = options.collective,
          .dtype = options.dtype,
          .reduction = options.reduction,
          .bytes = bytes};
}

// Checks the contestant once, warms it up, and finds out how many calls fill a sample.
int prepare(Contestant& contestant, const BenchOptions& options, SampleRequest request, Row& row) {
  request.check = true;
  row.wrong = contestant.sample(request).wrong;
  request.check = false;
  request.calls = options.calls > 0 ? options.calls : 2;
  // Ranks wake up for a sample one after the other, which must not be what a sample of short calls consists
  // of.
  const double fewest = request.bytes <= kShortCall ? 200 : 1;
  for (int refinement = 0; refinement < 3; ++refinement) {
    const Seconds per_call = std::max(contestant.sample(request).per_call, 1e-9);
    if (options.calls > 0) continue;
    request.calls = static_cast<int>(std::clamp(std::ceil(options.sample_time / per_call), fewest, 1e6));
  }
  return request.calls;
}

}  // namespace

double median(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  if (values.size() % 2 == 1) return *middle;
  return (*middle + *std::max_element(values.begin(), middle)) / 2;
}

Seconds Row::median() const { return gradwire::median(rounds); }
Seconds Row::fastest() const { return rounds.empty() ? 0 : *std::min_element(rounds.begin(), rounds.end()); }

Measurement measure(const BenchOptions& options, const std::vector<std::unique_ptr<Contestant>>& contestants,
                    const Progress& progress) {
  Measurement measurement;
  const double steps = static_cast<double>(options.sizes.size()) * (options.rounds + 1);
  double step = 0;
  for (const Bytes asked : options.sizes) {
    const Bytes bytes = fitting_size(options.collective, options.dtype, options.ranks, asked);
    std::vector<Row> rows;
    std::vector<int> calls;
    for (const auto& contestant : contestants) {
      progress(step / steps, fmt::format("{} of {}: warming up", contestant->name(), format_bytes(bytes)));
      rows.push_back({.backend = contestant->name(), .bytes = bytes, .rounds = {}, .wrong = 0});
      calls.push_back(prepare(*contestant, options, request_for(options, bytes), rows.back()));
    }
    for (int round = 0; round < options.rounds; ++round) {
      progress(++step / steps,
               fmt::format("{}, round {} of {}", format_bytes(bytes), round + 1, options.rounds));
      measurement.distances_ns.push_back(core_distance() * 1e9);
      for (std::size_t i = 0; i < contestants.size(); ++i) {
        SampleRequest request = request_for(options, bytes);
        request.calls = calls[i];
        const auto result = contestants[i]->sample(request);
        rows[i].rounds.push_back(result.per_call);
        rows[i].processor.push_back(result.processor);
      }
    }
    ++step;
    measurement.rows.insert(measurement.rows.end(), rows.begin(), rows.end());
  }
  return measurement;
}

Seconds core_distance() {
  if (usable_cores() < 2) return 0;
  constexpr int kTurns = 2000;
  const auto limit = std::chrono::steady_clock::now() + std::chrono::milliseconds(50);
  alignas(64) std::atomic<int> ball = 0;
  std::atomic<bool> stop = false;
  // Each side waits for its turn; either gives up when the other has no core to run on.
  const auto play = [&](int first) {
    for (int turn = first; turn < 2 * kTurns; turn += 2) {
      while (ball.load(std::memory_order_acquire) != turn) {
        cpu_pause();
        if (stop.load(std::memory_order_relaxed) || std::chrono::steady_clock::now() > limit)
          return stop.store(true);
      }
      ball.store(turn + 1, std::memory_order_release);
    }
  };
  std::thread other(play, 1);
  const auto begin = std::chrono::steady_clock::now();
  play(0);
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  other.join();
  return stop.load() ? 0 : elapsed.count() / (2 * kTurns);
}

}  // namespace gradwire
