// Gradient accumulation: four micro-batches a step, of which only the last communicates, with everything that
// has added up. Two ranks get the gradients that one process gets from all eight.
//
//   build/examples/train_accumulate
#include <gradwire_train.h>

#include <cstdio>

namespace {

constexpr int kMicroBatches = 4, kRows = 8;

torch::nn::Linear make_model() {
  torch::manual_seed(3);
  return torch::nn::Linear(5, 2);
}

torch::Tensor loss_of(const torch::Tensor& output) { return output.square().mean(); }

}  // namespace

int main() {
  gradwire::spawn(2, [](const gradwire::World& world) {
    const auto communicator = gradwire::make_communicator(world);
    const auto all = torch::linspace(-1, 1, world.size * kMicroBatches * kRows * 5).view({-1, kRows, 5});

    auto model = make_model();
    gradwire::DistributedDataParallel ddp(model, *communicator);
    const auto micro_batch = [&](int i) { return all[world.rank * kMicroBatches + i]; };
    {
      const auto quiet = ddp.no_sync();  // for the forwards made while it lives, and their backwards
      for (int i = 0; i + 1 < kMicroBatches; ++i)
        (loss_of(ddp.forward(micro_batch(i))) / kMicroBatches).backward();
    }
    (loss_of(ddp.forward(micro_batch(kMicroBatches - 1))) / kMicroBatches).backward();

    auto alone = make_model();
    loss_of(alone->forward(all.view({-1, 5}))).backward();
    const double difference = (model->weight.grad() - alone->weight.grad()).abs().max().item<double>();
    std::printf("rank %d: differs from one process by less than 1e-6: %s\n", world.rank,
                difference < 1e-6 ? "yes" : "no");
  });
}
