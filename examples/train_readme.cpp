#include <gradwire_train.h>

void train(const gradwire::World& world) {
  const auto communicator = gradwire::make_communicator(world);  // shared memory; shm+tcp over several hosts
  torch::nn::Sequential model(torch::nn::Linear(8, 32), torch::nn::ReLU(), torch::nn::Linear(32, 1));
  gradwire::DistributedDataParallel ddp(model, *communicator);  // rank 0's parameters are now everyone's
  torch::optim::SGD optimizer(ddp.parameters(), 0.05);
  for (int step = 0; step < 100; ++step) {
    const auto inputs = torch::randn({32, 8}), targets = inputs.sum(1, /*keepdim=*/true);
    ddp.zero_grad();
    torch::mse_loss(ddp.forward(inputs), targets).backward();  // gradients are averaged while it runs
    optimizer.step();
  }
}

int main() { gradwire::spawn(2, train); }  // two ranks, each a process; or: gradwire run -n 2 -- ./program
