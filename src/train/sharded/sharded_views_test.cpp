// Parameters that are there once for all ranks of a host: what is learnt is what copies learn, to the bit, and nobody changes what
// another still computes with.
#include <gmock/gmock.h>

#include <vector>

#include "train/sharded/shard_checkpoint.h"
#include "train/sharded/sharded_fixture.h"

namespace gradwire {
namespace {

using Tensors = std::vector<torch::Tensor>;

struct Learnt {
  Tensors gradients, parameters;  // of every step; after the last
};

// With micro-batches that add up, and a test of the model between two steps.
Learnt learn(ShardedDataParallel<Net>& sharded, const SmallModel& model, const World& world) {
  torch::optim::AdamW optimizer(sharded.parameters(), torch::optim::AdamWOptions(0.01));
  Learnt learnt;
  for (std::uint64_t step = 0; step < 8; ++step) {
    const auto mine = batch_for(model, torch::kFloat32, step).part(world.rank, world.size);
    {
      const auto quiet = sharded.no_sync();
      loss_of(sharded.forward(mine.input), mine.target).backward();
    }
    loss_of(sharded.forward(mine.input), mine.target).backward();
    for (const auto& gradient : tensors_in_order(sharded.full_gradients()))
      learnt.gradients.push_back(gradient.clone());
    sharded.clip_grad_norm(0.5);
    optimizer.step();
    sharded.zero_grad();
    if (step % 3 != 1) continue;
    const torch::NoGradGuard no_grad;
    sharded.forward(mine.input);
  }
  learnt.parameters = tensors_in_order(sharded.full_parameters());
  return learnt;
}

void expect_same_bits(const Tensors& got, const Tensors& expected) {
  ASSERT_EQ(got.size(), expected.size());
  for (std::size_t i = 0; i < got.size(); ++i) EXPECT_TRUE(torch::equal(got[i], expected[i])) << i;
}

class ShardedViews : public testing::TestWithParam<int> {};
INSTANTIATE_TEST_SUITE_P(Ranks, ShardedViews, testing::Values(2, 3, 4));

TEST_P(ShardedViews, learn_what_copies_learn_to_the_bit) {
  run_ddp(GetParam(), "shm", [](const World& world, Communicator& communicator) {
    for (const auto& model : {small_mlp(), small_gpt(true)})
      for (const bool mixed : {false, true}) {
        const auto with = [&](bool views) {
          ShardOptions options{.views = views};
          if (mixed) options.compute_type = torch::kBFloat16;
          ShardedDataParallel<Net> sharded(made(model, torch::kFloat32), communicator, options);
          EXPECT_EQ(sharded.memory().slots, 0);
          auto learnt = learn(sharded, model, world);
          EXPECT_EQ(sharded.memory().slots == 0, views);
          return learnt;
        };
        const auto copied = with(false), viewed = with(true);
        expect_same_bits(viewed.gradients, copied.gradients);
        expect_same_bits(viewed.parameters, copied.parameters);
        expect_identical(communicator, viewed.parameters);
      }
  });
}

// A chain of layers in which the last thing that a backward does, after every gradient is there, is to look at the
// parameters again: on one rank long after the others are done with theirs.
struct LooksBack : torch::nn::Module {
  torch::Tensor forward(torch::Tensor x, bool slow) {
    const auto before = first->weight.detach().clone();
    x.requires_grad_(true);
    x.register_hook([this, before, slow](const torch::Tensor& gradient) {
      auto work = torch::ones({192, 192});
      for (int i = 0; slow && i < 60; ++i) work = torch::tanh(work.mm(work));
      EXPECT_TRUE(torch::equal(first->weight.detach() + 0 * work[0][0], before));
      return gradient;
    });
    return second->forward(torch::tanh(first->forward(1 * x)));  // what is older comes later backward
  }
  torch::nn::Linear first = register_module("first", torch::nn::Linear(32, 32));
  torch::nn::Linear second = register_module("second", torch::nn::Linear(32, 32));
};

TEST_P(ShardedViews, are_not_changed_while_another_rank_still_computes_with_them) {
  run_ddp(GetParam(), "shm", [](const World& world, Communicator& communicator) {
    ShardedDataParallel sharded(std::make_shared<LooksBack>(), communicator);
    torch::optim::SGD optimizer(sharded.parameters(), 0.1);
    for (int step = 0; step < 12; ++step) {
      sharded.zero_grad();
      sharded.forward(torch::ones({4, 32}), world.rank == step % world.size).sum().backward();
      optimizer.step();
    }
  });
}

// Whoever looks at a parameter when the gradients are there, with or without autograd, makes a unit whole that the
// optimizer changes right after.
TEST(Sharded, computes_with_what_an_optimizer_has_learnt_since_parameters_were_looked_at) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    for (const bool views : {false, true})
      for (const int stage : {1, 2, 3}) {
        const auto train = [&](int looks) {
          ShardedDataParallel<Net> sharded(made(small_mlp(), torch::kFloat32), communicator,
                                           {.stage = stage, .views = views});
          torch::optim::SGD optimizer(sharded.parameters(), 0.1);
          for (std::uint64_t step = 0; step < 4; ++step) {
            const auto mine = batch_for(small_mlp(), torch::kFloat32, step).part(world.rank, world.size);
            sharded.zero_grad();
            loss_of(sharded.forward(mine.input), mine.target).backward();
            const torch::AutoGradMode mode(looks == 2);
            for (const auto& parameter : sharded.module()->parameters()) {
              if (looks == 0) continue;
              EXPECT_GE(parameter.norm().item<double>(), 0);
            }
            optimizer.step();
          }
          return tensors_in_order(sharded.full_parameters());
        };
        const auto expected = train(0);
        for (const int looks : {1, 2}) {
          SCOPED_TRACE(fmt::format("stage {}, views {}, looks {}", stage, views, looks));
          expect_same_bits(train(looks), expected);
        }
      }
  });
}

// As a user's own code may: in one operator for all shares.
TEST(Sharded, notices_shares_that_any_operator_writes) {
  run_ddp(2, "shm", [](const World&, Communicator& communicator) {
    for (const bool views : {false, true}) {
      ShardedDataParallel<Net> sharded(made(small_mlp(), torch::kFloat32), communicator, {.views = views});
      const torch::NoGradGuard no_grad;
      const auto weight = sharded.module()->parameters().front();
      const auto before = weight.clone();
      torch::_foreach_mul_(sharded.parameters(), 2.0);
      EXPECT_TRUE(torch::equal(weight, before * 2));
      for (auto& share : sharded.parameters()) share.narrow(0, 0, share.numel()).mul_(0.5);
      EXPECT_TRUE(torch::equal(weight, before));
    }
  });
}

}  // namespace
}  // namespace gradwire
