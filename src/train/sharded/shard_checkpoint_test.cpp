// A checkpoint of N ranks goes on with M, sharded in another stage or not sharded, as if nothing had happened: six steps
// are compared with those of one process.
#include "train/sharded/shard_checkpoint.h"

#include <gmock/gmock.h>

#include <filesystem>

#include "base/error.h"
#include "base/files.h"
#include "train/sharded/sharded_fixture.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

const SmallModel kModel = small_gpt(false);
constexpr std::uint64_t kSaved = 3, kAll = 6;

template <typename Wrapper>
void train_steps(Wrapper& wrapper, torch::optim::Optimizer& optimizer, std::uint64_t first,
                 const World& world) {
  for (std::uint64_t step = first; step < (first == 0 ? kSaved : kAll); ++step) {
    const auto batch = batch_for(kModel, torch::kFloat64, step).part(world.rank, world.size);
    wrapper.zero_grad();
    loss_of(wrapper.forward(batch.input), batch.target).backward();
    optimizer.step();
  }
}

std::vector<torch::Tensor> six_steps_alone() {
  auto model = made(kModel, torch::kFloat64);
  torch::optim::AdamW optimizer(model->parameters(), torch::optim::AdamWOptions(0.01));
  for (std::uint64_t step = 0; step < kAll; ++step) {
    const auto batch = batch_for(kModel, torch::kFloat64, step);
    optimizer.zero_grad();
    loss_of(model->forward(batch.input), batch.target).backward();
    optimizer.step();
  }
  return model->parameters();
}

void save_sharded_run(const std::filesystem::path& path, int ranks, int stage) {
  run_ddp(ranks, "shm", [&](const World& world, Communicator& communicator) {
    ShardedDataParallel<Net> sharded(made(kModel, torch::kFloat64), communicator, {.stage = stage});
    torch::optim::AdamW optimizer(sharded.parameters(), torch::optim::AdamWOptions(0.01));
    train_steps(sharded, optimizer, 0, world);
    save_checkpoint(path, sharded_state(sharded.core(), &optimizer), {.step = kSaved}, communicator,
                    {.sharded = true});
  });
}

void expect_sharded_goes_on(const std::filesystem::path& path, int ranks, int stage) {
  run_ddp(ranks, "shm", [&](const World& world, Communicator& communicator) {
    ShardedDataParallel<Net> sharded(kModel.make(), communicator, {.stage = stage});
    EXPECT_THAT(error_of([&] { load_checkpoint(path, sharded.core(), nullptr, communicator); }),
                HasSubstr("another shape or type"));  // it is of float64
    auto model = made(kModel, torch::kFloat64);
    ShardedDataParallel<Net> fitting(model, communicator, {.stage = stage});
    for (const auto& share : fitting.parameters()) share.detach().zero_();
    torch::optim::AdamW optimizer(fitting.parameters(), torch::optim::AdamWOptions(0.01));
    EXPECT_EQ(load_checkpoint(path, fitting.core(), &optimizer, communicator).step, 3);
    train_steps(fitting, optimizer, kSaved, world);
    EXPECT_LT(worst_difference(tensors_in_order(fitting.full_parameters()), six_steps_alone()), 1e-9);
  });
}

TEST(ShardCheckpoint, of_three_ranks_goes_on_with_any_number_and_stage) {
  const TempDir folder;
  const auto path = folder.path() / "run.ckpt";
  save_sharded_run(path, 3, 3);
  expect_sharded_goes_on(path, 2, 3);
  expect_sharded_goes_on(path, 4, 1);
  expect_sharded_goes_on(path, 1, 2);
}

TEST(ShardCheckpoint, goes_on_without_sharding) {
  const TempDir folder;
  const auto path = folder.path() / "run.ckpt";
  save_sharded_run(path, 2, 2);
  run_ddp(2, "shm", [&](const World& world, Communicator& communicator) {
    DistributedDataParallel<Net> ddp(made(kModel, torch::kFloat64), communicator);
    torch::optim::AdamW optimizer(ddp.parameters(), torch::optim::AdamWOptions(0.01));
    const TrainingState state{tensors_of_model(*ddp.module()), &optimizer};
    EXPECT_EQ(load_checkpoint(path, state, communicator).step, 3);
    train_steps(ddp, optimizer, kSaved, world);
    EXPECT_LT(worst_difference(ddp.parameters(), six_steps_alone()), 1e-9);
  });
}

TEST(ShardCheckpoint, of_replicas_goes_on_sharded) {
  const TempDir folder;
  const auto path = folder.path() / "run.ckpt";
  run_ddp(2, "shm", [&](const World& world, Communicator& communicator) {
    DistributedDataParallel<Net> ddp(made(kModel, torch::kFloat64), communicator);
    torch::optim::AdamW optimizer(ddp.parameters(), torch::optim::AdamWOptions(0.01));
    train_steps(ddp, optimizer, 0, world);
    save_checkpoint(path, {tensors_of_model(*ddp.module()), &optimizer}, {.step = kSaved}, communicator);
  });
  expect_sharded_goes_on(path, 3, 3);
}

}  // namespace
}  // namespace gradwire
