// Pipeline parallelism: the layers of a torch::nn::Sequential lie on two stages, cut where forward and backward take equally long,
// and two such pipelines learn from different data. A step's four micro-batches flow through the stages one behind the other.
//
//   build/examples/train_pipeline
#include <gradwire_train.h>

#include <cstdio>

namespace {

torch::nn::Sequential make_model() {
  torch::manual_seed(1);
  return torch::nn::Sequential(torch::nn::Linear(8, 64), torch::nn::Tanh(), torch::nn::Linear(64, 64),
                               torch::nn::Tanh(), torch::nn::Linear(64, 1));
}

void train(const gradwire::World& world) {
  constexpr int kMicroBatches = 4, kRows = 16;
  gradwire::MeshGroups groups(world, {.dp = 2, .pp = 2});
  const auto pieces = gradwire::pieces_of(make_model());

  // All ranks cut where rank 0 found it best.
  const auto everybody = gradwire::make_communicator(world);
  auto costs = gradwire::measure_pieces(pieces, torch::randn({kRows, 8}));
  everybody->run(gradwire::broadcast(gradwire::bytes_of(costs), gradwire::DType::f64, 0));
  gradwire::Pipeline pipeline(groups, pieces, {.micro_batches = kMicroBatches, .costs = costs});
  torch::optim::SGD optimizer(pipeline.parameters(), 0.05);

  double loss = 0;
  for (int step = 0; step < 100; ++step) {
    torch::manual_seed(static_cast<std::uint64_t>(step * 2 + groups.place().data));  // data of its replica
    gradwire::MicroBatches batches;
    for (int i = 0; i < kMicroBatches; ++i) {
      batches.inputs.push_back(torch::randn({kRows, 8}));
      batches.targets.push_back(batches.inputs.back().mean(1, /*keepdim=*/true));
    }
    pipeline.zero_grad();
    loss = pipeline.step(batches, [](const torch::Tensor& output, const torch::Tensor& target) {
      return torch::mse_loss(output, target);
    });
    optimizer.step();
  }
  std::printf("rank %d of %d, stage %d of replica %d: %s\n", world.rank, world.size, groups.place().pipeline,
              groups.place().data,
              !pipeline.is_last() ? "the last stage knows the loss"
              : loss < 0.05       ? "it has learnt the mean"
                                  : "it has learnt nothing");
  everybody->run(gradwire::barrier());
}

}  // namespace

int main() { gradwire::spawn(4, train); }
