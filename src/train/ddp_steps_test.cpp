// Steps of training beyond plain averages: uneven inputs, clipping, compression.
#include <gmock/gmock.h>

#include "base/error.h"
#include "train/ddp_fixture.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

TEST(DdpJoin, lets_ranks_with_fewer_batches_answer_for_the_others) {
  for (const bool divide_by_all : {true, false})
    run_ddp(3, "shm", [&](const World& world, Communicator& communicator) {
      // Rank 0 has two batches, rank 1 has one, rank 2 four.
      constexpr int kBatches[] = {2, 1, 4};
      auto alone = make_model();
      torch::optim::SGD alone_optimizer(alone->parameters(), 0.1);
      for (int step = 0; step < 4; ++step) {
        alone_optimizer.zero_grad();
        const auto with_input =
            static_cast<double>(std::count_if(kBatches, kBatches + 3, [&](int n) { return n > step; }));
        for (Rank rank = 0; rank < 3; ++rank) {
          if (step >= kBatches[rank]) continue;
          const auto part = make_batch(torch::kFloat32, 24, static_cast<std::uint64_t>(step)).part(rank, 3);
          (loss_of(alone->forward(part.input), part.target) / (divide_by_all ? 3 : with_input)).backward();
        }
        alone_optimizer.step();
      }
      DistributedDataParallel ddp(make_model(), communicator,
                                  {.first_bucket_bytes = 300, .bucket_bytes = 600});
      torch::optim::SGD optimizer(ddp.parameters(), 0.1);
      auto join = ddp.join({.divide_by_all = divide_by_all});
      for (int step = 0; step < kBatches[world.rank]; ++step) {
        ddp.zero_grad();
        const auto mine =
            make_batch(torch::kFloat32, 24, static_cast<std::uint64_t>(step)).part(world.rank, 3);
        loss_of(ddp.forward(mine.input), mine.target).backward();
        optimizer.step();
      }
      join.finish();
      expect_identical(communicator, ddp.parameters());
      EXPECT_LT(worst_difference({flat_parameters(ddp.parameters())}, {flat_parameters(alone->parameters())}),
                1e-6);
    });
}

TEST(DdpJoin, finds_unused_parameters_and_syncs_again_afterwards) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    DistributedDataParallel ddp(make_model(), communicator, {.find_unused_parameters = true});
    for (int epoch = 0; epoch < 2; ++epoch) {
      auto join = ddp.join();
      for (int step = 0; step < (world.rank == epoch ? 3 : 1); ++step)
        loss_of(ddp.forward(make_batch().input, step != 1), make_batch().target).backward();
      join.finish();
      EXPECT_THAT(error_of([&] { join.finish(); }), HasSubstr("twice"));
    }
    ddp.zero_grad();
    loss_of(ddp.forward(make_batch().input), make_batch().target).backward();
    expect_identical(communicator, gradients_of(*ddp.module()));
  });
}

TEST(DdpClip, scales_gradients_to_a_common_norm_that_is_the_same_everywhere) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    auto alone = make_model();
    DistributedDataParallel ddp(make_model(), communicator);
    const auto batch = make_batch(), mine = batch.part(world.rank, world.size);
    loss_of(alone->forward(batch.input), batch.target).backward();
    loss_of(ddp.forward(mine.input), mine.target).backward();
    const double expected = torch::nn::utils::clip_grad_norm_(alone->parameters(), 0.1);
    EXPECT_NEAR(ddp.clip_grad_norm(0.1), expected, 1e-6 * expected);
    EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 2e-6);
    expect_identical(communicator, gradients_of(*ddp.module()));
    EXPECT_NEAR(ddp.clip_grad_norm(1e9), 0.1, 1e-6);  // small enough already
    EXPECT_THAT(error_of([&] { ddp.clip_grad_norm(0); }), HasSubstr("must be above 0"));
  });
}

template <typename Model = Net>
double difference_with(std::shared_ptr<CommHook> hook, const World& world, Communicator& communicator) {
  auto alone = make_model<Model>();
  const DdpOptions options{.first_bucket_bytes = 600, .bucket_bytes = 600, .hook = std::move(hook)};
  DistributedDataParallel ddp(make_model<Model>(), communicator, options);
  double worst = 0;
  for (std::uint64_t step = 0; step < 4; ++step) {
    const auto batch = make_batch(torch::kFloat32, 24, step), mine = batch.part(world.rank, world.size);
    alone->zero_grad();
    ddp.zero_grad();
    loss_of(alone->forward(batch.input), batch.target).backward();
    loss_of(ddp.forward(mine.input), mine.target).backward();
    expect_identical(communicator, gradients_of(*ddp.module()));
    worst = std::max(worst, worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)));
  }
  return worst;
}

TEST(DdpHooks, round_averages_to_16_bits) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    EXPECT_LT(difference_with(make_fp16_hook(), world, communicator), 2.0 / 1024);  // 11 bits
    EXPECT_LT(difference_with(make_bf16_hook(), world, communicator), 2.0 / 128);   // 8 bits
    EXPECT_LT(difference_with(make_average_hook(), world, communicator), 1e-6);
  });
}

TEST(DdpHooks, approximate_with_power_sgd_exactly_where_the_rank_suffices) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    // As many columns as the matrices have: nothing is left out.
    EXPECT_LT(difference_with(make_power_sgd_hook({.rank = 16, .start_step = 1, .min_compression = 1}), world,
                              communicator),
              1e-4);
    // Also where its buckets are laid out anew after the first step.
    EXPECT_LT(
        difference_with<OddNet>(make_power_sgd_hook({.rank = 16, .start_step = 0, .min_compression = 1}),
                                world, communicator),
        1e-4);
    EXPECT_THAT(error_of([] { make_power_sgd_hook({.rank = 0}); }), HasSubstr("rank 0 must be at least 1"));
  });
}

TEST(DdpHooks, lose_nothing_for_good_with_power_sgd) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    // The same gradient again and again: what is left out of one step comes in a later one, so that sums
    // agree.
    auto alone = make_model<Net>(torch::kFloat32, 64);
    const auto batch = make_batch(), mine = batch.part(world.rank, world.size);
    loss_of(alone->forward(batch.input), batch.target).backward();
    DistributedDataParallel ddp(make_model<Net>(torch::kFloat32, 64), communicator,
                                {.hook = make_power_sgd_hook({.rank = 1, .start_step = 0})});
    auto sum = torch::zeros_like(alone->middle->weight);
    constexpr int kSteps = 200;
    for (int step = 0; step < kSteps; ++step) {
      ddp.zero_grad();
      loss_of(ddp.forward(mine.input), mine.target).backward();
      sum += ddp->middle->weight.grad();
    }
    EXPECT_LT(worst_difference({sum / kSteps}, {alone->middle->weight.grad()}), 0.1);
  });
}

}  // namespace
}  // namespace gradwire
