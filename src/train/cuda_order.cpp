#include "train/cuda_order.h"

#include "base/error.h"
#include "comm/nccl/nccl.h"

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

}  // namespace gradwire
