#include "measure/sampler.h"

#include <ctime>

#include <chrono>

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

}  // namespace gradwire
