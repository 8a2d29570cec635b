// What models may do and may not: unused, frozen, shared and scripted parameters, other types.
#include <gmock/gmock.h>

#include "train/ddp_fixture.h"
#include "train/sync_batch_norm.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

TEST(DdpModels, may_leave_parameters_unused_on_some_ranks_or_all) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    auto alone = make_model();
    const DdpOptions options{.first_bucket_bytes = 300, .bucket_bytes = 600, .find_unused_parameters = true};
    DistributedDataParallel ddp(make_model(), communicator, options);
    const auto batch = make_batch(), mine = batch.part(world.rank, world.size);
    for (int step = 0; step < 6; ++step) {
      // Used by all, by rank 1 alone, by none, and again.
      const auto uses = [&](Rank rank) { return step % 3 == 0 || (step % 3 == 1 && rank == 1); };
      for (auto& parameter : alone->parameters()) parameter.mutable_grad().reset();
      for (Rank rank = 0; rank < world.size; ++rank) {
        const auto part = batch.part(rank, world.size);
        (loss_of(alone->forward(part.input, uses(rank)), part.target) / world.size).backward();
      }
      ddp.zero_grad();
      loss_of(ddp.forward(mine.input, uses(world.rank)), mine.target).backward();
      EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 1e-6) << "step " << step;
    }
  });
}

TEST(DdpModels, may_leave_the_same_parameters_unused_in_every_step) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    auto alone = make_model();
    DistributedDataParallel ddp(make_model(), communicator, {.static_graph = true});
    const auto batch = make_batch(), mine = batch.part(world.rank, world.size);
    for (int step = 0; step < 3; ++step) {
      for (auto& parameter : alone->parameters()) parameter.mutable_grad().reset();
      loss_of(alone->forward(batch.input, false), batch.target).backward();
      ddp.zero_grad();
      loss_of(ddp.forward(mine.input, false), mine.target).backward();
      EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 1e-6) << "step " << step;
    }
    EXPECT_THAT(error_of([&] { ddp.forward(mine.input, true).sum().backward(); }),
                HasSubstr("static_graph: parameter extra"));
  });
}

TEST(DdpModels, learn_which_parameters_got_no_gradient) {
  run_ddp(2, "shm", [](const World&, Communicator& communicator) {
    DistributedDataParallel ddp(make_model(), communicator);
    const auto said = error_of([&] { ddp.forward(make_batch().input, false).sum().backward(); });
    EXPECT_THAT(said, HasSubstr("no gradient to 2 of 8 parameters (extra.weight, extra.bias)"));
    EXPECT_THAT(said, HasSubstr("find_unused_parameters"));
  });
}

// Frozen, shared between modules, and of two types in one model.
struct Mixed : torch::nn::Module {
  Mixed() {
    weight = register_parameter("weight", torch::randn({6, 6}));
    frozen = register_parameter("frozen", torch::randn({6, 6}), false);
    narrow = register_parameter("narrow", torch::randn({6, 3}, torch::kFloat64));
    again = register_module("again", std::make_shared<Again>(weight));
    register_buffer("count", torch::zeros({1}, torch::kInt64));
    register_buffer("flag", torch::zeros({2}, torch::kBool));
  }
  struct Again : torch::nn::Module {
    explicit Again(torch::Tensor shared) : shared_(register_parameter("shared", std::move(shared))) {}
    torch::Tensor forward(const torch::Tensor& x) { return torch::mm(x, shared_); }
    torch::Tensor shared_;
  };
  torch::Tensor forward(const torch::Tensor& x) {
    return torch::mm(again->forward(torch::tanh(torch::mm(torch::mm(x, weight), frozen))).to(torch::kFloat64),
                     narrow);
  }
  torch::Tensor weight, frozen, narrow;
  std::shared_ptr<Again> again;
};

TEST(DdpModels, may_freeze_share_and_mix_types_of_parameters) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    torch::manual_seed(1);
    auto alone = std::make_shared<Mixed>();
    torch::manual_seed(1);
    DistributedDataParallel ddp(std::make_shared<Mixed>(), communicator);
    EXPECT_EQ(ddp.parameters().size(), 3u);
    EXPECT_EQ(ddp.buckets().size(), 2u);
    const auto batch = make_batch(), mine = batch.part(world.rank, world.size);
    for (int step = 0; step < 2; ++step) {
      alone->zero_grad();
      ddp.zero_grad();
      loss_of(alone->forward(batch.input), batch.target.to(torch::kFloat64)).backward();
      loss_of(ddp.forward(mine.input), mine.target.to(torch::kFloat64)).backward();
      EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 1e-6);
    }
    ddp->frozen.set_requires_grad(true);
    EXPECT_THAT(error_of([&] { ddp.forward(mine.input); }), HasSubstr("parameter frozen was frozen"));
  });
}

TEST(DdpModels, may_have_sparse_gradients_which_travel_dense) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    struct Words : torch::nn::Module {
      explicit Words(bool sparse)
          : table(register_module("table",
                                  torch::nn::Embedding(torch::nn::EmbeddingOptions(10, 4).sparse(sparse)))) {}
      torch::Tensor forward(const torch::Tensor& words) { return table(words); }
      torch::nn::Embedding table;
    };
    auto alone = make_model<Words>(torch::kFloat32, false);
    DistributedDataParallel ddp(make_model<Words>(torch::kFloat32, true), communicator);
    const auto words = torch::tensor({1, 2, 3, 1, 5, 9});
    for (int step = 0; step < 2; ++step) {
      alone->zero_grad();
      alone->forward(words).square().mean().backward();
      step == 0 ? ddp.zero_grad() : ddp->zero_grad();
      ddp.forward(words.narrow(0, 3 * world.rank, 3)).square().mean().backward();
      EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 1e-6);
    }
  });
}

TEST(DdpModels, are_refused_a_double_backward_by_name) {
  run_ddp(1, "shm", [](const World&, Communicator& communicator) {
    DistributedDataParallel ddp(make_model(), communicator);
    const auto said = error_of([&] { ddp.forward(make_batch().input).sum().backward({}, true, true); });
    EXPECT_THAT(said, HasSubstr("create_graph=true reached parameter last."));
  });
}

TEST(DdpModels, that_differ_between_ranks_are_refused_on_every_rank) {
  run_ddp(3, "shm", [](const World& world, Communicator& communicator) {
    const auto said = error_of([&] {
      DistributedDataParallel ddp(make_model<Net>(torch::kFloat32, world.rank == 2 ? 17 : 16), communicator);
    });
    EXPECT_THAT(said, HasSubstr("rank 2 has parameter first.weight: Float[17, 6] where rank 0 has parameter "
                                "first.weight: Float[16, 6]"));
  });
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    const auto type = world.rank == 1 ? torch::kFloat64 : torch::kFloat32;
    const auto said = error_of([&] { DistributedDataParallel ddp(make_model(type), communicator); });
    EXPECT_THAT(said, HasSubstr("rank 1 has parameter first.weight: Double"));
  });
}

TEST(DdpModels, may_be_scripted_any_or_held) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    const auto batch = make_batch(), mine = batch.part(world.rank, world.size);
    torch::jit::Module scripted("scripted");
    torch::manual_seed(3);
    scripted.register_parameter("weight", torch::randn({6, 3}).requires_grad_(), false);
    scripted.define("def forward(self, x):\n  return (torch.mm(x, self.weight), x)\n");
    DistributedDataParallel ddp(scripted, communicator);
    const auto output =
        ddp.forward(std::vector<torch::jit::IValue>{mine.input}).toTuple()->elements()[0].toTensor();
    loss_of(output, mine.target).backward();
    auto weight = scripted.attr("weight").toTensor(), alone = weight.detach().clone().requires_grad_();
    loss_of(torch::mm(batch.input, alone), batch.target).backward();
    EXPECT_LT(worst_difference({weight.grad()}, {alone.grad()}), 1e-6);

    const torch::nn::Linear layer(6, 3);
    torch::Tensor gradient;
    {
      DistributedDataParallel any(torch::nn::AnyModule(layer), communicator);
      loss_of(any.forward(mine.input), mine.target).backward();
      gradient = layer->weight.grad().clone();
      EXPECT_THAT(error_of([&] { DistributedDataParallel twice(torch::nn::Linear(layer), communicator); }),
                  HasSubstr("parameter weight belongs to another wrapper"));
    }
    DistributedDataParallel held(torch::nn::Linear(layer), communicator);
    held.zero_grad();
    loss_of(held.forward(mine.input), mine.target).backward();
    EXPECT_TRUE(torch::equal(gradient, layer->weight.grad()));
  });
}

TEST(DdpModels, normalize_over_the_whole_batch_with_sync_batch_norm) {
  run_ddp(3, "shm", [](const World& world, Communicator& communicator) {
    const auto options = SyncBatchNormOptions(4).momentum(0.3);
    torch::nn::BatchNorm2d alone(options);
    SyncBatchNorm sync(communicator, options);
    for (std::uint64_t step = 0; step < 3; ++step) {
      torch::manual_seed(step);
      const auto whole = (torch::randn({12, 4, 5, 3}) * 3 + 7).requires_grad_();
      // Ranks need not have equally many.
      const std::int64_t begins[] = {0, 2, 6, 12}, begin = begins[world.rank],
                         count = begins[world.rank + 1] - begin;
      auto mine = whole.detach().narrow(0, begin, count).clone().requires_grad_();
      const auto weights = torch::randn({12, 4, 5, 3});
      alone->zero_grad();
      sync->zero_grad();
      const auto expected = alone(whole), got = sync(mine);
      EXPECT_LT(worst_difference({got}, {expected.narrow(0, begin, count)}), 1e-6);
      (expected * weights).sum().backward();
      (got * weights.narrow(0, begin, count)).sum().backward();
      EXPECT_LT(worst_difference({mine.grad()}, {whole.grad().narrow(0, begin, count)}), 3e-6);
      auto weight = sync->weight.grad().clone();
      communicator.run(all_reduce({static_cast<std::byte*>(weight.data_ptr()), weight.nbytes()}, DType::f32));
      EXPECT_LT(worst_difference({weight}, {alone->weight.grad()}), 1e-5);
      EXPECT_LT(worst_difference({sync->running_mean, sync->running_var},
                                 {alone->running_mean, alone->running_var}),
                1e-6);
    }
    alone->eval();
    sync->eval();
    const auto input = torch::randn({2, 4, 1, 1});
    EXPECT_TRUE(torch::allclose(sync(input), alone(input)));
    EXPECT_THAT(error_of([&] { sync(torch::randn({2, 5})); }), HasSubstr("got 2 dimensions with 5 channels"));
  });
}

}  // namespace
}  // namespace gradwire
