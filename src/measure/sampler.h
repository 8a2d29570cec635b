// One rank's side of a benchmark: a communicator with the buffers of the collective that is being measured, and what a
// rank process of `gradwire bench` does with it. Belongs to one thread.
#pragma once

#include <memory>
#include <string>

#include "comm/communicator.h"
#include "measure/sample.h"
#include "measure/workload.h"
#include "net/world.h"

namespace gradwire {

// A contestant's backend: its name without ":user", which says that its buffers are ordinary memory.
std::string without_memory(const std::string& contestant);

class Sampler {
 public:
  // `contestant` is a backend as make_communicator takes it, or "limit"; with ":user" its buffers are
  // ordinary memory.
  Sampler(const World& world, const std::string& contestant);

  Rank rank() const { return communicator_->rank(); }
  SampleResult take(
      const SampleRequest& request);  // all ranks take it at once; what it throws is in the result

 private:
  SampleResult check();
  SampleResult time(int calls);
  void prepare(const SampleRequest& request);

  bool communicator_memory_ = true;
  std::unique_ptr<Communicator> communicator_;
  std::unique_ptr<CheckedBuffers> buffers_;
  Bytes prepared_bytes_ = 0;
};

// Keys in the contestant's space of the store.
std::string order_key(int number);              // a SampleRequest, or kStop
std::string answer_key(int number, Rank rank);  // a SampleResult
std::string failure_key(Rank);                  // why it ended before its time
inline constexpr const char* kStop = "stop";

// As long as it takes, for others may be measured meanwhile. Whoever gives orders hosts the store: while that answers, all is
// well; throws Timeout when it does not for the world's timeout, as when it is stopped.
std::string await_order(const World& world, int number);

// Joins its contestant's group, then takes samples as it is told, until it is told to stop. It waits for orders in a
// blocking read, so that groups that are not being measured cost nothing. `contestant` as Sampler takes it. Returns the
// exit code.
int run_bench_rank(const World& world, const std::string& contestant);

}  // namespace gradwire
