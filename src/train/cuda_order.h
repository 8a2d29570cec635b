// The order of work on a GPU's streams: autograd's, which make gradients, and the communicator's side stream.
// Events do it all; the host never waits. Without torch, so that it runs on the stand-in for CUDA too.
//
// `current` gives the calling thread's stream. Calls begin when that stream has come to them (Call::stream),
// and waiting for one is the stream's business (NcclWork::wait_on), not the host's. One thread at a time.
#pragma once

#include <functional>
#include <map>
#include <vector>

#include "comm/communicator.h"
#include "comm/nccl/cuda_clock.h"
#include "comm/nccl/gpu.h"
#include "trace/recorder.h"

namespace gradwire {

using CurrentStream = std::function<cudaStream_t()>;

class StreamCommunicator final : public Communicator {
 public:
  // The communicator is an NcclCommunicator, borrowed; ConfigError when it is none.
  StreamCommunicator(Communicator& communicator, CurrentStream current);
  Rank rank() const override { return communicator_.rank(); }
  int size() const override { return communicator_.size(); }
  std::string name() const override { return communicator_.name(); }
  Carrier carrier() const override { return communicator_.carrier(); }
  std::unique_ptr<Work> start(const Call& call) override;
  void run(const Call& call) override { start(call)->wait(); }
  Memory allocate(std::size_t bytes) override { return communicator_.allocate(bytes); }
  void abort() override { communicator_.abort(); }

 private:
  Communicator& communicator_;
  const CurrentStream current_;
};

// A bucket's gradients may be made on several streams. A bucket leaves from one of them, when it has waited
// for the last gradient made on each of the others.
class GradientOrder {
 public:
  explicit GradientOrder(CurrentStream current) : current_(std::move(current)) {}
  void gradient_made(int bucket);
  void wait_for_gradients(int bucket);

 private:
  const CurrentStream current_;
  std::map<int, std::map<cudaStream_t, CudaEvent>> made_;  // by bucket, by stream: the last gradient's event
};

// Times of the GPU for a recorder: marks on the calling thread's stream, and calls that know when they ran. While a
// recorder is set, the communicator's calls are timed.
class StreamMarks final : public DeviceMarks {
 public:
  // The communicator is an NcclCommunicator, borrowed.
  StreamMarks(Communicator& communicator, CurrentStream current, std::shared_ptr<CudaClock> clock);
  LateTime mark() noexcept override;
  // Of the former recorder all is taken down first: waits until the stream has come to the present point.
  void set_trace(Recorder* trace, Seconds timeout);

 private:
  Communicator& communicator_;
  const CurrentStream current_;
  const std::shared_ptr<CudaClock> clock_;
  Recorder* trace_ = nullptr;
};

}  // namespace gradwire
