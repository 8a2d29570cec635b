// The known mistake: the model is wrapped and never moved to its rank's device, so training runs in the wrong
// place or fails somewhere else entirely. Here the wrapper itself says which tensor is where, and the line to
// write.
//
//   build/examples/train_missing_to_device
#include <gradwire_train.h>

#include <cstdio>

namespace {

struct Net : torch::nn::Module {
  explicit Net(torch::Device made_on) {
    weight = register_parameter("weight", torch::zeros({4, 1}, made_on));
  }
  torch::Tensor forward(const torch::Tensor& input) { return torch::matmul(input, weight); }
  torch::Tensor weight;
};

}  // namespace

int main() {
  gradwire::spawn(2, [](const gradwire::World& world) {
    const bool gpus = torch::cuda::is_available();
    const auto device = gpus ? torch::Device(torch::kCUDA, static_cast<torch::DeviceIndex>(world.local_rank))
                             : torch::Device(torch::kCPU);
    const auto communicator = gradwire::make_communicator(world, gpus ? "nccl" : "auto");

    // Models are made on the CPU, which is wrong for a rank with a GPU. Without GPUs, torch's device without
    // memory stands for "somewhere else".
    const auto model = std::make_shared<Net>(gpus ? torch::kCPU : torch::kMeta);
    try {
      const gradwire::DistributedDataParallel ddp(model, *communicator, {.device = device});
      std::printf("rank %d: nobody noticed\n", world.rank);
    } catch (const gradwire::ConfigError& error) {
      std::printf("rank %d: caught: %s\n", world.rank, error.what());
    }

    if (!gpus) return;  // what has no memory can't be moved
    const gradwire::DistributedDataParallel ddp(model, *communicator,
                                                {.device = device, .move_to_device = true});
    std::printf("rank %d: move_to_device did it\n", world.rank);
  });
}
