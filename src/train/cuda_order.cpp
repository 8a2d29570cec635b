#include "train/cuda_order.h"

#include "base/deadline.h"
#include "base/error.h"
#include "comm/nccl/nccl.h"
#include "net/backoff.h"

namespace gradwire {
namespace {

class StreamWork final : public Work {
 public:
  StreamWork(std::unique_ptr<Work> work, CurrentStream current)
      : work_(std::move(work)), current_(std::move(current)) {}
  bool done() override { return work_->done(); }
  void wait() override { static_cast<NcclWork&>(*work_).wait_on(current_()); }
  std::optional<WorkTimes> times() const override { return work_->times(); }

 private:
  const std::unique_ptr<Work> work_;
  const CurrentStream current_;
};

}  // namespace

StreamCommunicator::StreamCommunicator(Communicator& communicator, CurrentStream current)
    : communicator_(communicator), current_(std::move(current)) {
  if (dynamic_cast<NcclCommunicator*>(&communicator) == nullptr)
    throw ConfigError(
        fmt::format("the backend {} moves host memory, and the model is on a GPU: write "
                    "make_communicator(world, \"nccl\")",
                    communicator.name()));
}

std::unique_ptr<Work> StreamCommunicator::start(const Call& call) {
  Call placed = call;
  placed.stream = current_();
  return std::make_unique<StreamWork>(communicator_.start(placed), current_);
}

void GradientOrder::gradient_made(int bucket) {
  const cudaStream_t stream = current_();
  made_[bucket][stream].record(stream);
}

void GradientOrder::wait_for_gradients(int bucket) {
  const cudaStream_t leaving = current_();
  for (auto& [stream, event] : made_[bucket])
    if (stream != leaving) check_cuda(cudaStreamWaitEvent(leaving, event.get(), 0), "cudaStreamWaitEvent");
  made_.erase(bucket);
}

StreamMarks::StreamMarks(Communicator& communicator, CurrentStream current, std::shared_ptr<CudaClock> clock)
    : communicator_(communicator), current_(std::move(current)), clock_(std::move(clock)) {}

// A clock that fails must not stop a training: its spans are missing, and counted.
LateTime StreamMarks::mark() noexcept {
  try {
    return [mark = std::make_shared<TimedMark>(clock_->mark(current_()))] { return mark->find(); };
  } catch (const std::exception&) {
    return {};
  }
}

void StreamMarks::set_trace(Recorder* trace, Seconds timeout) {
  if (trace_ != nullptr) {
    if (const LateTime here = mark()) {
      const Deadline deadline = Deadline::after(timeout);
      Backoff(1).wait([&] { return here().has_value(); },
                      [&] {
                        if (deadline.passed())
                          throw Timeout(fmt::format("the GPU did not come to the end of its work in {}",
                                                    format_seconds(timeout)));
                      });
    }
    trace_->resolve();
    trace_->set_marks(nullptr);
  }
  trace_ = trace;
  if (auto* const nccl = dynamic_cast<NcclCommunicator*>(&communicator_))
    nccl->set_clock(trace != nullptr ? clock_ : nullptr);
  if (trace != nullptr) trace->set_marks(this);
}

}  // namespace gradwire
