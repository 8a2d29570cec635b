// Every stage of sharding against one process that has the whole batch: the same gradients, the same norm, the same
// parameters after twenty steps.
#include <gmock/gmock.h>

#include <algorithm>

#include "train/sharded/sharded_fixture.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

constexpr int kMicroBatches = 2;

struct Against {
  double gradients = 0, norm = 0, parameters = 0;  // the worst relative differences
};

// One process with the whole batch, and its optimizer.
class Alone {
 public:
  Alone(const SmallModel& model, bool adam) : model_(made(model, torch::kFloat64)) {
    if (adam)
      optimizer_ =
          std::make_unique<torch::optim::AdamW>(model_->parameters(), torch::optim::AdamWOptions(0.01));
    else
      optimizer_ = std::make_unique<torch::optim::SGD>(model_->parameters(),
                                                       torch::optim::SGDOptions(0.05).momentum(0.9));
  }
  void backward(const SmallBatch& batch) {
    (loss_of(model_->forward(batch.input), batch.target) / kMicroBatches).backward();
  }
  double clip() { return torch::nn::utils::clip_grad_norm_(model_->parameters(), 0.5); }
  void step() {
    optimizer_->step();
    optimizer_->zero_grad();
  }
  std::vector<torch::Tensor> gradients() const { return gradients_of(*model_); }
  std::vector<torch::Tensor> parameters() const { return model_->parameters(); }

 private:
  std::shared_ptr<Net> model_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

std::unique_ptr<torch::optim::Optimizer> optimizer_for(ShardedDataParallel<Net>& sharded, bool adam) {
  if (adam)
    return std::make_unique<torch::optim::AdamW>(sharded.parameters(), torch::optim::AdamWOptions(0.01));
  return std::make_unique<torch::optim::SGD>(sharded.parameters(),
                                             torch::optim::SGDOptions(0.05).momentum(0.9));
}

void backward_part(ShardedDataParallel<Net>& sharded, const SmallBatch& batch, const World& world) {
  const auto mine = batch.part(world.rank, world.size);
  (loss_of(sharded.forward(mine.input), mine.target) / kMicroBatches).backward();
}

// Accumulates over two micro-batches, clips, steps; as a user's loop does.
Against train_both(const SmallModel& model, int stage, bool adam, const World& world,
                   Communicator& communicator) {
  Alone alone(model, adam);
  ShardedDataParallel<Net> sharded(made(model, torch::kFloat64), communicator, {.stage = stage});
  const auto optimizer = optimizer_for(sharded, adam);
  Against worst;
  for (std::uint64_t step = 0; step < 20; ++step) {
    const std::int64_t size = world.size > 4 ? 24 : 12;  // for 8 ranks
    const auto first = batch_for(model, torch::kFloat64, 2 * step, size),
               second = batch_for(model, torch::kFloat64, 2 * step + 1, size);
    alone.backward(first);
    alone.backward(second);
    {
      const auto quiet = sharded.no_sync();
      backward_part(sharded, first, world);
    }
    backward_part(sharded, second, world);
    worst.gradients = std::max(
        worst.gradients, worst_difference(tensors_in_order(sharded.full_gradients()), alone.gradients()));
    const double norm = alone.clip();
    worst.norm = std::max(worst.norm, std::abs(sharded.clip_grad_norm(0.5) - norm) / norm);
    alone.step();
    optimizer->step();
    sharded.zero_grad();
  }
  const auto parameters = tensors_in_order(sharded.full_parameters());
  worst.parameters = worst_difference(parameters, alone.parameters());
  expect_identical(communicator, parameters);
  return worst;
}

struct Place {
  const char* backend;
  int ranks;
  bool slow = false;  // one model has to do: small messages take long, or many ranks share the cores
};

std::string test_name(const testing::TestParamInfo<std::tuple<Place, int>>& test) {
  const Place place = std::get<0>(test.param);
  std::string name = std::string(place.backend) + "_" + std::to_string(place.ranks) + "_stage" +
                     std::to_string(std::get<1>(test.param));
  std::replace(name.begin(), name.end(), '+', '_');
  return name;
}

class EveryStage : public testing::TestWithParam<std::tuple<Place, int>> {};

TEST_P(EveryStage, gives_the_gradients_and_parameters_of_one_process) {
  const Place place = std::get<0>(GetParam());
  const int stage = std::get<1>(GetParam());
  run_ddp(place.ranks, place.backend, [&](const World& world, Communicator& communicator) {
    std::vector<std::pair<SmallModel, bool>> cases = {{small_gpt(true), true}};
    if (!place.slow) {
      cases.emplace_back(small_mlp(), false);
      cases.emplace_back(small_gpt(false), false);
    }
    for (const auto& [model, adam] : cases) {
      const auto worst = train_both(model, stage, adam, world, communicator);
      EXPECT_LT(worst.gradients, 1e-10) << model.name;
      EXPECT_LT(worst.norm, 1e-10) << model.name;
      EXPECT_LT(worst.parameters, 1e-8) << model.name;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(
    OnBackends, EveryStage,
    testing::Combine(testing::Values(Place{"shm", 1}, Place{"shm", 2}, Place{"shm", 3}, Place{"shm", 4},
                                     Place{"shm", 8, true}, Place{"tcp", 2}, Place{"tcp", 3},
                                     Place{"gloo", 2, true}, Place{"gloo", 3, true}, Place{"shm+tcp", 4}),
                     testing::Values(1, 2, 3)),
    test_name);

// Steps of a transformer in float32, each with the loss before it, by either wrapper.
template <typename Wrapper>
std::vector<double> losses_of(Wrapper& wrapper, const SmallModel& model, const World& world) {
  torch::optim::AdamW optimizer(wrapper.parameters(), torch::optim::AdamWOptions(1e-3));
  std::vector<double> losses;
  for (std::uint64_t step = 0; step < 12; ++step) {
    const auto batch = batch_for(model, torch::kFloat32, step % 3).part(world.rank, world.size);
    wrapper.zero_grad();
    const auto loss = loss_of(wrapper.forward(batch.input), batch.target);
    loss.backward();
    optimizer.step();
    losses.push_back(loss.template item<double>());
  }
  return losses;
}

TEST(Sharded, trains_gpt_tiny_to_the_loss_of_distributed_data_parallel) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    TransformerShape shape = find_trainable("gpt-tiny").shape;
    const SmallModel model{"gpt-tiny", [=] { return make_gpt(shape); }, 16, shape.vocabulary};
    DistributedDataParallel<Net> ddp(made(model, torch::kFloat32), communicator);
    const auto expected = losses_of(ddp, model, world);
    EXPECT_LT(expected.back(), expected.front() - 1);
    for (const int stage : {1, 2, 3}) {
      ShardedDataParallel<Net> sharded(made(model, torch::kFloat32), communicator, {.stage = stage});
      const auto losses = losses_of(sharded, model, world);
      for (std::size_t i = 0; i < losses.size(); ++i)
        EXPECT_NEAR(losses[i], expected[i], 2e-3) << stage << " " << i;
    }
  });
}

// Modules need no wrapping: whoever uses a parameter, inside the model or outside, finds it whole.
TEST(Sharded, gathers_whatever_is_used_and_by_whomever) {
  run_ddp(3, "shm", [](const World&, Communicator& communicator) {
    const auto whole = made(small_gpt(true), torch::kFloat64);
    ShardedDataParallel<Net> sharded(made(small_gpt(true), torch::kFloat64), communicator);
    const torch::NoGradGuard no_grad;
    const auto input = batch_for(small_gpt(true), torch::kFloat64, 1).input;
    EXPECT_TRUE(torch::equal(sharded.module()->forward(input), whole->forward(input)));
    const auto parameters = sharded.module()->parameters(), expected = whole->parameters();
    const auto view = parameters[0].t().detach();  // of memory that goes and comes
    for (std::size_t i = 0; i < parameters.size(); ++i)
      EXPECT_TRUE(torch::equal(parameters[i], expected[i])) << i;
    EXPECT_TRUE(torch::equal(view, expected[0].t()));
    std::vector<torch::Tensor> flat, flat_expected;
    for (const auto& parameter : parameters) flat.push_back(parameter.reshape({-1}));
    for (const auto& parameter : expected) flat_expected.push_back(parameter.reshape({-1}));
    EXPECT_TRUE(torch::equal(torch::cat(flat), torch::cat(flat_expected)));  // all units at once
  });
}

TEST(Sharded, names_the_unit_that_is_used_when_its_owner_is_gone) {
  run_ddp(2, "shm", [](const World&, Communicator& communicator) {
    const auto model = made(small_mlp(), torch::kFloat32);
    { ShardedDataParallel<Net> sharded(model, communicator); }
    EXPECT_THAT(
        error_of([&] {
          model->forward(torch::zeros({1, 1024}));
        }),
        HasSubstr("the parameters of unit fc1 were used after their ShardedDataParallel was destroyed"));
  });
}

TEST(Sharded, refuses_what_it_cannot_do) {
  run_ddp(2, "shm", [](const World&, Communicator& communicator) {
    const auto sharded_with = [&](const ShardOptions& options) {
      return error_of(
          [&] { ShardedDataParallel<Net>(made(small_mlp(), torch::kFloat32), communicator, options); });
    };
    EXPECT_THAT(sharded_with({.stage = 4}), HasSubstr("stage 4 of sharding: there are 1"));
    EXPECT_THAT(sharded_with({.compute_type = torch::kFloat64}), HasSubstr("there are bfloat16 and float16"));
    EXPECT_THAT(sharded_with({.policy = {.children_of = "fc9"}}), HasSubstr("the model has fc1, fc2, fc3"));
    ShardedDataParallel<Net> sharded(made(small_mlp(), torch::kFloat32), communicator);
    torch::optim::LBFGS optimizer(sharded.parameters(), 0.1);
    EXPECT_THAT(error_of([&] { sharded.step(optimizer); }),
                HasSubstr("LBFGS looks at all parameters at once"));
  });
}

struct WithSpare : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& input, bool use_spare) {
    const auto output = used->forward(input);
    return use_spare ? output + spare->forward(input) : output;
  }
  torch::nn::Linear used = register_module("used", torch::nn::Linear(4, 3));
  torch::nn::Linear spare = register_module("spare", torch::nn::Linear(4, 3));
};

TEST(Sharded, names_parameters_without_a_gradient_or_takes_them_for_zero) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    ShardedDataParallel strict(std::make_shared<WithSpare>(), communicator);
    EXPECT_THAT(error_of([&] {
                  strict.forward(torch::ones({2, 4}), false).sum().backward();
                }),
                HasSubstr("backward gave no gradient to 2 parameters (spare.weight, spare.bias)"));
    ShardedDataParallel lenient(std::make_shared<WithSpare>(), communicator,
                                {.stage = 2, .allow_unused = true});
    lenient.forward(torch::ones({2, 4}), world.rank == 0).sum().backward();
    const auto gradients = lenient.full_gradients();
    ASSERT_EQ(gradients.size(), 4u);
    EXPECT_TRUE(torch::equal(gradients[0].tensor, torch::full({3, 4}, 2.0)));  // on both ranks
    EXPECT_TRUE(torch::equal(gradients[2].tensor, torch::full({3, 4}, 1.0)));  // on one of two
  });
}

TEST(Sharded, leaves_frozen_parameters_alone) {
  run_ddp(2, "shm", [](const World&, Communicator& communicator) {
    auto model = std::make_shared<WithSpare>();
    model->spare->weight.set_requires_grad(false);
    ShardedDataParallel sharded(model, communicator);
    torch::optim::AdamW optimizer(sharded.parameters(), torch::optim::AdamWOptions(0.1).weight_decay(0.5));
    const auto before = sharded.full_parameters();
    sharded.forward(torch::ones({2, 4}), true).sum().backward();
    sharded.step(optimizer);
    const auto after = sharded.full_parameters();
    EXPECT_FALSE(torch::equal(before[0].tensor, after[0].tensor));
    EXPECT_EQ(after[2].name, "spare.weight");
    EXPECT_TRUE(torch::equal(before[2].tensor, after[2].tensor));
  });
}

}  // namespace
}  // namespace gradwire
