// A communication hook of one's own: gradients are averaged in float64 instead of float32. start() is called
// the moment a bucket is ready, so that its communication hides under the rest of backward.
//
//   build/examples/train_comm_hook
#include <gradwire_train.h>

#include <cstdio>

namespace {

class WideWork : public gradwire::BucketWork {
 public:
  WideWork(const gradwire::GradBucket& bucket, gradwire::Communicator& communicator)
      : flat_(bucket.flat), wide_(bucket.flat.to(torch::kFloat64)), bytes_(wide_.nbytes()) {
    const std::span bytes(static_cast<std::byte*>(wide_.data_ptr()), bytes_);
    work_ = communicator.start(gradwire::all_reduce(bytes, gradwire::DType::f64, gradwire::Reduction::avg));
  }

  void finish() override {
    work_->wait();
    flat_.copy_(wide_);  // what is in the bucket then is each parameter's gradient
  }
  std::optional<gradwire::WorkTimes> times() const override { return work_->times(); }

 private:
  torch::Tensor flat_, wide_;
  std::size_t bytes_;
  std::unique_ptr<gradwire::Work> work_;
};

class WideHook : public gradwire::CommHook {
 public:
  std::unique_ptr<gradwire::BucketWork> start(const gradwire::GradBucket& bucket,
                                              gradwire::Communicator& communicator) override {
    return std::make_unique<WideWork>(bucket, communicator);
  }
};

}  // namespace

int main() {
  gradwire::spawn(2, [](const gradwire::World& world) {
    const auto communicator = gradwire::make_communicator(world);
    torch::nn::Linear model(3, 1);
    gradwire::DistributedDataParallel ddp(model, *communicator, {.hook = std::make_shared<WideHook>()});

    // Rank 0 sees ones and rank 1 threes: the gradient of each weight is 1 and 3, and 2 on average.
    ddp.forward(torch::full({1, 3}, 1.0 + 2 * world.rank)).sum().backward();
    std::printf("rank %d: every gradient is %g\n", world.rank, model->weight.grad()[0][0].item<double>());
  });
}
