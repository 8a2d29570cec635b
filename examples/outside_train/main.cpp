// The smallest program that trains with an installed Gradwire.
#include <gradwire_train.h>

#include <cstdio>

int main() {
  gradwire::spawn(2, [](const gradwire::World& world) {
    const auto communicator = gradwire::make_communicator(world);
    torch::nn::Linear model(1, 1);
    gradwire::DistributedDataParallel ddp(model, *communicator);
    ddp.forward(torch::full({1, 1}, 1.0 + world.rank)).sum().backward();
    std::printf("rank %d: the average of 1 and 2 is %g\n", world.rank, model->weight.grad().item<double>());
  });
}
