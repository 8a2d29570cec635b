#include <gmock/gmock.h>

#include "train/precision/grad_scaler.h"
#include "train/precision/master_weights.h"
#include "train/sharded/sharded_fixture.h"

namespace gradwire {
namespace {

TEST(MasterWeights, keep_updates_that_sixteen_bits_would_lose) {
  auto model = torch::ones({1}, torch::kBFloat16).set_requires_grad(true);
  MasterWeights masters({model}, torch::kBFloat16);
  torch::optim::SGD optimizer(masters.parameters(), 1e-3);
  for (int i = 0; i < 64; ++i) {  // 1 - 0.001 is 1 in bfloat16
    model.mutable_grad() = torch::ones({1}, torch::kBFloat16);
    masters.take_gradients();
    optimizer.step();
    masters.give_back();
  }
  EXPECT_NEAR(masters.parameters()[0].item<float>(), 1 - 0.064, 1e-5);
  EXPECT_NEAR(model.to(torch::kFloat32).item<float>(), 1 - 0.064, 0.004);
}

TEST(MasterWeights, round_a_model_that_computes_in_a_wider_type) {
  auto model = torch::full({1}, 1.0 / 3).set_requires_grad(true);
  MasterWeights masters({model}, torch::kFloat16);
  EXPECT_EQ(model.item<float>(),
            torch::full({1}, 1.0 / 3).to(torch::kFloat16).to(torch::kFloat32).item<float>());
  EXPECT_FLOAT_EQ(masters.parameters()[0].item<float>(), 1.0F / 3);
  model.mutable_grad() = torch::full({1}, 1e6F);
  masters.take_gradients();
  EXPECT_TRUE(std::isinf(masters.parameters()[0].grad().item<float>()));
}

// A gradient that overflows on one rank alone.
TEST(GradScaler, leaves_a_step_out_on_all_ranks_when_one_overflowed) {
  run_ddp(3, "shm", [](const World& world, Communicator& communicator) {
    auto weight = torch::ones({2}).set_requires_grad(true);
    torch::optim::SGD optimizer({weight}, 0.5);
    GradScaler scaler(communicator, {.initial = 4, .growth_interval = 2});
    const auto train = [&](float gradient) {
      weight.mutable_grad() = torch::full({2}, gradient * static_cast<float>(scaler.state().value()));
      const bool made = scaler.step(optimizer);
      scaler.update();
      return made;
    };
    EXPECT_TRUE(train(1));
    EXPECT_EQ(weight[0].item<float>(), 0.5F);
    EXPECT_FALSE(train(world.rank == 1 ? INFINITY : 1));
    EXPECT_EQ(weight[0].item<float>(), 0.5F);
    EXPECT_EQ(scaler.state().value(), 2);
    EXPECT_TRUE(train(1) && train(1));
    EXPECT_EQ(scaler.state().value(), 4);
    EXPECT_EQ(weight[0].item<float>(), -0.5F);
  });
}

TEST(GradScaler, unscales_before_clipping_and_once) {
  run_ddp(2, "shm", [](const World&, Communicator& communicator) {
    auto weight = torch::zeros({1}).set_requires_grad(true);
    torch::optim::SGD optimizer({weight}, 1);
    GradScaler scaler(communicator, {.initial = 1024});
    scaler.scale((3 * weight).sum()).backward();
    scaler.unscale(optimizer);
    EXPECT_EQ(weight.grad().item<float>(), 3);
    scaler.step(optimizer);
    EXPECT_EQ(weight.item<float>(), -3);
  });
}

class MixedStage : public testing::TestWithParam<int> {};

TEST_P(MixedStage, computes_in_bfloat16_and_learns_in_float32) {
  run_ddp(2, "shm", [stage = GetParam()](const World& world, Communicator& communicator) {
    const auto model = small_gpt(false);
    ShardedDataParallel<Net> sharded(made(model, torch::kFloat32), communicator,
                                     {.stage = stage, .compute_type = torch::kBFloat16});
    torch::optim::AdamW optimizer(sharded.parameters(), torch::optim::AdamWOptions(1e-2));
    double first = 0, last = 0;
    for (std::uint64_t step = 0; step < 40; ++step) {
      const auto batch = batch_for(model, torch::kFloat32, 7).part(world.rank, world.size);
      sharded.zero_grad();
      const auto logits = sharded.forward(batch.input);
      EXPECT_EQ(logits.scalar_type(), torch::kBFloat16);
      const auto loss = loss_of(logits, batch.target);
      loss.backward();
      optimizer.step();
      (step == 0 ? first : last) = loss.item<double>();
    }
    EXPECT_LT(last, first / 2);
    for (const auto& share : sharded.parameters()) EXPECT_EQ(share.scalar_type(), torch::kFloat32);
    expect_identical(communicator, tensors_in_order(sharded.full_parameters()));
  });
}

INSTANTIATE_TEST_SUITE_P(OneToThree, MixedStage, testing::Values(1, 2, 3));

}  // namespace
}  // namespace gradwire
