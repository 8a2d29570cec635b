// For tests of checkpoints: a run of DistributedDataParallel that saves and resumes, whose buckets are laid out anew after its
// first step.
#pragma once

#include <memory>
#include <utility>

#include "train/ddp_fixture.h"
#include "train/loop/checkpoint.h"

namespace gradwire {

class DdpRun {
 public:
  DdpRun(const World& world, Communicator& communicator, std::shared_ptr<KeepingHook> hook = nullptr,
         int width = 16)
      : world_(world),
        communicator_(communicator),
        hook_(std::move(hook)),
        ddp_(make_model<OddNet>(torch::kFloat32, width), communicator,
             {.first_bucket_bytes = Bytes{300} * width * width / 256,
              .bucket_bytes = Bytes{600} * width * width / 256,
              .hook = hook_}),
        optimizer_(ddp_.parameters(), torch::optim::SGDOptions(0.1).momentum(0.9)) {}

  void train(int from, int to) {
    for (int step = from; step < to; ++step) {
      const auto batch = make_batch(torch::kFloat32, 24, static_cast<std::uint64_t>(step));
      const auto mine = batch.part(world_.rank, world_.size);
      ddp_.zero_grad();
      loss_of(ddp_.forward(mine.input), mine.target).backward();
      optimizer_.step();
    }
  }

  TrainingState state() {
    return {.model = tensors_of_model(*ddp_.module()), .optimizer = &optimizer_, .hook = hook_.get()};
  }
  void save(const std::filesystem::path& path, int step, bool sharded = true) {
    save_checkpoint(path, state(), {.step = step, .gradient_order = ddp_.gradient_order()}, communicator_,
                    {.sharded = sharded});
  }
  int load(const std::filesystem::path& path) {
    const auto position = load_checkpoint(path, state(), communicator_);
    ddp_.restore_gradient_order(position.gradient_order);
    return static_cast<int>(position.step);
  }
  torch::Tensor learnt() const { return flat_parameters(ddp_.parameters()); }
  DistributedDataParallel<OddNet>& ddp() { return ddp_; }

 private:
  const World world_;
  Communicator& communicator_;
  const std::shared_ptr<KeepingHook> hook_;
  DistributedDataParallel<OddNet> ddp_;
  torch::optim::SGD optimizer_;
};

}  // namespace gradwire
