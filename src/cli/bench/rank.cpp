#include "cli/bench/rank.h"

#include <chrono>
#include <memory>

#include "base/cpu.h"
#include "base/error.h"
#include "cli/bench/limit.h"
#include "cli/bench/workload.h"
#include "comm/make.h"
#include "comm/queued.h"

namespace gradwire {
namespace {

constexpr std::string_view kUserMemory = ":user";
constexpr Seconds kLongestRun = 24 * 3600;

// As mpirun does by default. Not for libraries with threads of their own, which need the other cores.
void bind_where_it_helps(const World& world, const std::string& contestant) {
  const auto family = contestant.substr(0, contestant.find(':'));
  const bool single_threaded = family == "shm" || family == "tcp" || family == "shm+tcp" || family == "limit";
  if (single_threaded && world.local_size <= usable_cores()) bind_to_core(world.local_rank);
}

class BenchRank {
 public:
  BenchRank(const World& world, const std::string& contestant) : world_(world) {
    bind_where_it_helps(world, contestant);
    const std::string backend = without_memory(contestant);
    communicator_memory_ = backend == contestant;
    communicator_ =
        backend == "limit" ? std::make_unique<Queued>(make_limit(world)) : make_communicator(world, backend);
  }

  // False when told to stop.
  bool obey(int number) {
    const std::string order = world_.store->get(order_key(number), Deadline::after(kLongestRun));
    if (order == "stop") return false;
    SampleResult result;
    try {
      result = take(nlohmann::json::parse(order).get<SampleRequest>());
    } catch (const Error& error) {
      result.error = error.what();
    }
    world_.store->set(answer_key(number, communicator_->rank()), nlohmann::json(result).dump());
    return result.error.empty();
  }

 private:
  SampleResult take(const SampleRequest& request) {
    prepare(request);
    if (request.check) {
      workload_->fill();
      communicator_->run(workload_->call());
      return {.per_call = 0, .wrong = workload_->count_wrong(), .error = {}};
    }
    communicator_->run(barrier());
    const auto begin = std::chrono::steady_clock::now();
    for (int i = 0; i < request.calls; ++i) communicator_->run(workload_->call());
    const std::chrono::duration<double> elapsed = std::chrono::steady_clock::now() - begin;
    return {.per_call = elapsed.count() / request.calls, .wrong = 0, .error = {}};
  }

  // Buffers live as long as the size stays: first touch of memory is slow, and not what is measured.
  void prepare(const SampleRequest& request) {
    if (workload_ && prepared_bytes_ == request.bytes) return;
    workload_.reset();
    workload_ = std::make_unique<Workload>(*communicator_, request, communicator_memory_);
    prepared_bytes_ = request.bytes;
  }

  const World world_;
  bool communicator_memory_ = true;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<Workload> workload_;
  Bytes prepared_bytes_ = 0;
};

}  // namespace

std::string without_memory(const std::string& contestant) {
  return contestant.ends_with(kUserMemory) ? contestant.substr(0, contestant.size() - kUserMemory.size())
                                           : contestant;
}

std::string order_key(int number) { return fmt::format("bench/order/{}", number); }
std::string answer_key(int number, Rank rank) { return fmt::format("bench/answer/{}/{}", number, rank); }

int run_bench_rank(const World& world, const std::string& contestant) {
  BenchRank rank(world, contestant);
  int number = 0;
  while (rank.obey(number)) ++number;
  return 0;
}

}  // namespace gradwire
