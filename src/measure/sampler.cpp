#include "measure/sampler.h"

#include <fmt/format.h>

#include <chrono>
#include <ctime>
#include <nlohmann/json.hpp>

#include "base/cpu.h"
#include "base/error.h"
#include "comm/make.h"
#include "comm/queued.h"
#include "measure/limit.h"

namespace gradwire {
namespace {

constexpr std::string_view kUserMemory = ":user";

// Of all threads of this process.
Seconds processor_time() {
  std::timespec now{};
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// As mpirun does by default. Not for libraries with threads of their own, which need the other cores.
void bind_where_it_helps(const World& world, const std::string& contestant) {
  const bool single_threaded = contestant == kLimit || works_in_caller(without_memory(contestant));
  if (single_threaded && world.local_size <= usable_cores()) bind_to_core(world.local_rank);
}

// False when told to stop.
bool obey(const World& world, Sampler& sampler, int number) {
  const std::string order = await_order(world, number);
  if (order == kStop) return false;
  const SampleResult result = sampler.take(nlohmann::json::parse(order).get<SampleRequest>());
  world.store->set(answer_key(number, sampler.rank()), nlohmann::json(result).dump());
  return result.error.empty();
}

}  // namespace

std::string without_memory(const std::string& contestant) {
  return contestant.ends_with(kUserMemory) ? contestant.substr(0, contestant.size() - kUserMemory.size())
                                           : contestant;
}

Sampler::Sampler(const World& world, const std::string& contestant) {
  const std::string backend = without_memory(contestant);
  communicator_memory_ = backend == contestant;
  communicator_ =
      backend == kLimit ? std::make_unique<Queued>(make_limit(world)) : make_communicator(world, backend);
}

SampleResult Sampler::take(const SampleRequest& request) {
  try {
    prepare(request);
    return request.check ? check() : time(request.calls);
  } catch (const Error& error) {
    return {.per_call = 0, .processor = 0, .wrong = 0, .error = error.what()};
  }
}

SampleResult Sampler::check() {
  buffers_->fill();
  communicator_->run(buffers_->call());
  return {.per_call = 0, .processor = 0, .wrong = buffers_->count_wrong(), .error = {}};
}

SampleResult Sampler::time(int calls) {
  communicator_->run(barrier());
  const auto begin = std::chrono::steady_clock::now();
  const Seconds processor = processor_time();
  for (int i = 0; i < calls; ++i) communicator_->run(buffers_->call());
  const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
  return {.per_call = elapsed.count() / calls,
          .processor = (processor_time() - processor) / calls,
          .wrong = 0,
          .error = {}};
}

// Buffers live as long as the size stays: first touch of memory is slow, and not what is measured.
void Sampler::prepare(const SampleRequest& request) {
  if (buffers_ && prepared_bytes_ == request.bytes) return;
  buffers_.reset();
  buffers_ = std::make_unique<CheckedBuffers>(*communicator_, request, communicator_memory_);
  prepared_bytes_ = request.bytes;
}

std::string order_key(int number) { return fmt::format("bench/order/{}", number); }
std::string answer_key(int number, Rank rank) { return fmt::format("bench/answer/{}/{}", number, rank); }
std::string failure_key(Rank rank) { return fmt::format("bench/failure/{}", rank); }

std::string await_order(const World& world, int number) {
  for (;;) {
    try {
      return world.store->get(order_key(number), Deadline::after(world.timeout));
    } catch (const Timeout&) {
      world.store->find(order_key(number));  // throws when it says nothing to this either
    }
  }
}

// What holds up all ranks is said once, by whoever started them.
int run_bench_rank(const World& world, const std::string& contestant) try {
  bind_where_it_helps(world, contestant);
  Sampler sampler(world, contestant);
  int number = 0;
  while (obey(world, sampler, number)) ++number;
  return 0;
} catch (const Error& error) {
  world.store->set(failure_key(world.rank), error.what());
  return 1;
}

}  // namespace gradwire
