// Training on one machine, as one would with DistributedDataParallel in Python: two ranks, each with its own
// device, the model placed on it. With NVLink or PCIe between GPUs NCCL carries the gradients, without GPUs
// shared memory does.
//
//   build/examples/train_one_node
#include <gradwire_train.h>

#include <cstdio>

namespace {

torch::Device device_of(const gradwire::World& world) {
  if (!torch::cuda::is_available()) return torch::kCPU;
  return {torch::kCUDA, static_cast<torch::DeviceIndex>(world.local_rank)};
}

void train(const gradwire::World& world) {
  const auto device = device_of(world);
  const auto communicator = gradwire::make_communicator(world, device.is_cuda() ? "nccl" : "shm");

  torch::manual_seed(1);
  torch::nn::Sequential model(torch::nn::Linear(8, 32), torch::nn::ReLU(), torch::nn::Linear(32, 1));
  model->to(device);  // forget this line and the next one says so
  gradwire::DistributedDataParallel ddp(model, *communicator, {.device = device});
  torch::optim::SGD optimizer(ddp.parameters(), 0.05);

  const auto inputs = torch::randn({256, 8}), targets = inputs.sum(1, /*keepdim=*/true);
  gradwire::DistributedSampler sampler(256, {.rank = world.rank, .ranks = world.size});
  double loss_value = 0;
  for (int epoch = 0; epoch < 20; ++epoch) {
    sampler.set_epoch(epoch);
    while (const auto batch = sampler.next(32)) {
      const auto mine = torch::tensor(std::vector<std::int64_t>(batch->begin(), batch->end()));
      ddp.zero_grad();
      const auto loss = torch::mse_loss(ddp.forward(inputs.index_select(0, mine).to(device)),
                                        targets.index_select(0, mine).to(device));
      loss.backward();  // gradients are averaged over the ranks while it runs
      optimizer.step();
      loss_value = loss.item<double>();
    }
  }
  std::printf("rank %d of %d on %s: %s\n", world.rank, world.size, device.str().c_str(),
              loss_value < 0.5 ? "it has learnt to add" : "it has learnt nothing");
}

}  // namespace

int main() { gradwire::spawn(2, train); }
