// Sharded training: four ranks keep a quarter each of the parameters, their gradients and the optimizer's state, and learn
// what one process would. A checkpoint that four ranks have saved goes on with two.
//
//   build/examples/train_sharded
#include <gradwire_train.h>

#include <cstdio>
#include <filesystem>

namespace {

// Any module will do, as it is; units are its children.
struct Tower : torch::nn::Module {
  Tower() {
    for (int i = 0; i < 8; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), torch::nn::Linear(128, 128)));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& layer : layers) x = x + torch::tanh(layer->forward(x));
    return x;
  }
  std::vector<torch::nn::Linear> layers;
};

double train(gradwire::ShardedDataParallel<Tower>& sharded, torch::optim::Optimizer& optimizer, int steps) {
  double last = 0;
  for (int step = 0; step < steps; ++step) {
    const auto input = torch::randn({32, 128});
    sharded.zero_grad();
    auto loss = torch::mse_loss(sharded.forward(input), input.flip(1));
    loss.backward();  // gathers units as it needs them, leaves each rank its share of the gradients
    sharded.clip_grad_norm(1.0);  // of all ranks' shares together
    optimizer.step();
    last = loss.item<double>();
  }
  return last;
}

void run(const gradwire::World& world, const std::filesystem::path& checkpoint, bool resume) {
  const auto communicator = gradwire::make_communicator(world);
  gradwire::seed_all(1);
  gradwire::ShardedDataParallel sharded(std::make_shared<Tower>(), *communicator, {.stage = 3});
  torch::optim::AdamW optimizer(sharded.parameters(), torch::optim::AdamWOptions(1e-3));
  gradwire::seed_rank(2, world.rank);
  if (resume) gradwire::load_checkpoint(checkpoint, sharded.core(), &optimizer, *communicator);
  const double loss = train(sharded, optimizer, resume ? 1 : 120);
  if (!resume)
    gradwire::save_checkpoint(checkpoint, gradwire::sharded_state(sharded.core(), &optimizer), {.step = 120},
                              *communicator, {.sharded = true});
  const auto memory = sharded.memory();
  if (world.rank == 0)
    std::printf("%d ranks: loss %.2f, a rank holds %zu KiB of parameters, and %zu KiB of others' copies\n",
                world.size, loss, static_cast<std::size_t>(memory.parameters / 1024),
                static_cast<std::size_t>(memory.gathered / 1024));  // over shm none: it sees theirs
}

}  // namespace

int main() {
  const auto folder =
      std::filesystem::temp_directory_path() / ("train_sharded." + std::to_string(::getpid()));
  std::filesystem::create_directories(folder);
  gradwire::spawn(4, [&](const gradwire::World& world) { run(world, folder / "tower.ckpt", false); });
  gradwire::spawn(2, [&](const gradwire::World& world) { run(world, folder / "tower.ckpt", true); });
  std::filesystem::remove_all(folder);
}
