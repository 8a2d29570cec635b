#include "train/comm_hook.h"

#include <map>

#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

// The bucket's number, so that ranks whose buckets differ get a Mismatch instead of nonsense.
Call average_of(const torch::Tensor& flat, int bucket) {
  Call call = all_reduce(memory_of(flat), dtype_of(flat.scalar_type(), "a gradient"), Reduction::avg);
  call.tag = static_cast<std::uint32_t>(bucket) + 1;
  return call;
}

class AverageWork final : public BucketWork {
 public:
  explicit AverageWork(std::unique_ptr<Work> work) : work_(std::move(work)) {}
  void finish() override { work_->wait(); }
  std::optional<WorkTimes> times() const override { return work_->times(); }

 private:
  const std::unique_ptr<Work> work_;
};

class AverageHook final : public CommHook {
 public:
  std::unique_ptr<BucketWork> start(const GradBucket& bucket, Communicator& communicator) override {
    return std::make_unique<AverageWork>(communicator.start(average_of(bucket.flat, bucket.index)));
  }
};

// What comes back from the wire replaces the gradients.
class NarrowWork final : public BucketWork {
 public:
  NarrowWork(std::unique_ptr<Work> work, torch::Tensor wide, torch::Tensor narrow)
      : work_(std::move(work)), wide_(std::move(wide)), narrow_(std::move(narrow)) {}
  void finish() override {
    work_->wait();
    wide_.copy_(narrow_);
  }
  std::optional<WorkTimes> times() const override { return work_->times(); }

 private:
  const std::unique_ptr<Work> work_;
  torch::Tensor wide_;
  const torch::Tensor narrow_;
};

class NarrowHook final : public CommHook {
 public:
  explicit NarrowHook(torch::ScalarType type) : type_(type) {}

  std::unique_ptr<BucketWork> start(const GradBucket& bucket, Communicator& communicator) override {
    if (torch::elementSize(bucket.flat.scalar_type()) <= torch::elementSize(type_))
      return average_.start(bucket, communicator);
    torch::Tensor& narrow = narrow_for(bucket, communicator);
    // Divided before the sum: n values near fp16's limit have an average but no sum.
    torch::Tensor flat = bucket.flat;
    narrow.copy_(flat.div_(communicator.size()));
    Call call = average_of(narrow, bucket.index);
    call.reduction = Reduction::sum;
    return std::make_unique<NarrowWork>(communicator.start(call), bucket.flat, narrow);
  }

 private:
  torch::Tensor& narrow_for(const GradBucket& bucket, Communicator& communicator) {
    auto& narrow = narrow_[bucket.index];
    if (!narrow.defined() || narrow.numel() != bucket.flat.numel())
      narrow = allocate_tensor(communicator, bucket.flat.numel(), bucket.flat.options().dtype(type_));
    return narrow;
  }

  const torch::ScalarType type_;
  AverageHook average_;
  std::map<int, torch::Tensor> narrow_;  // by bucket: memory of the communicator's, kept
};

}  // namespace

std::shared_ptr<CommHook> make_average_hook() { return std::make_shared<AverageHook>(); }
std::shared_ptr<CommHook> make_fp16_hook() { return std::make_shared<NarrowHook>(torch::kFloat16); }
std::shared_ptr<CommHook> make_bf16_hook() { return std::make_shared<NarrowHook>(torch::kBFloat16); }

}  // namespace gradwire
