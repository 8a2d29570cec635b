// A TorchScript model, as torch.jit.save writes it in Python and torch::jit::load reads it in C++, trained on
// two ranks. With a file's name it trains that; without, it makes one itself.
//
//   build/examples/train_scripted [model.pt]
#include <gradwire_train.h>

#include <cstdio>

namespace {

torch::jit::Module make_scripted() {
  torch::manual_seed(2);
  torch::jit::Module model("Net");
  model.register_parameter("weight", (torch::randn({4, 1}) * 0.1).requires_grad_(), /*is_buffer=*/false);
  model.register_parameter("bias", torch::zeros({1}).requires_grad_(), /*is_buffer=*/false);
  model.define(R"(
    def forward(self, x):
        return torch.matmul(x, self.weight) + self.bias
  )");
  return model;
}

}  // namespace

int main(int argc, char** argv) {
  gradwire::spawn(2, [&](const gradwire::World& world) {
    const auto communicator = gradwire::make_communicator(world);
    gradwire::DistributedDataParallel ddp(argc > 1 ? torch::jit::load(argv[1]) : make_scripted(),
                                          *communicator);
    torch::optim::SGD optimizer(ddp.parameters(), 0.1);

    gradwire::seed_rank(7, world.rank);
    double last = 0;
    for (int step = 0; step < 100; ++step) {
      const auto input = torch::randn({16, 4});
      ddp.zero_grad();
      const auto loss = torch::mse_loss(ddp.forward(std::vector<torch::jit::IValue>{input}).toTensor(),
                                        input.mean(1, /*keepdim=*/true));
      loss.backward();
      optimizer.step();
      last = loss.item<double>();
    }
    std::printf("rank %d: the scripted model %s\n", world.rank,
                last < 1e-2 ? "has learnt the mean" : "has learnt nothing");
  });
}
