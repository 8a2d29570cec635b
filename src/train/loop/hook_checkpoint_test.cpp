// Checkpoints of runs whose gradients are compressed with PowerSGD, which keeps on each rank what it has left out.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "train/loop/ddp_run_fixture.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

constexpr PowerSgdOptions kThin{.rank = 1, .start_step = 2, .min_compression = 1};

// While averages are plain still, when compression is due, and when it has left something out.
TEST(HookCheckpoint, goes_on_to_the_bit_on_as_many_ranks) {
  for (const auto& [ranks, backend] : {std::pair(1, "shm"), {2, "shm"}, {3, "shm"}, {3, "tcp"}}) {
    const TempDir directory;
    run_ddp(ranks, backend, [&](const World& world, Communicator& communicator) {
      constexpr int kSteps = 8;
      DdpRun whole(world, communicator, make_power_sgd_hook(kThin));
      for (int step = 1; step <= kSteps; ++step) {
        whole.train(step - 1, step);
        whole.save(directory.path() / std::to_string(step), step);
      }
      for (const int step : {1, 2, 3, 6}) {
        DdpRun resumed(world, communicator, make_power_sgd_hook(kThin));
        EXPECT_EQ(resumed.load(directory.path() / std::to_string(step)), step);
        resumed.train(step, kSteps);
        EXPECT_TRUE(torch::equal(resumed.learnt(), whole.learnt())) << "resumed after step " << step;
      }
      // Without what was kept it would not be so: there is something to keep.
      DdpRun forgetful(world, communicator, make_power_sgd_hook(kThin));
      auto state = forgetful.state();
      state.hook = nullptr;
      load_checkpoint(directory.path() / "6", state, communicator);
      forgetful.train(6, kSteps);
      EXPECT_FALSE(torch::equal(forgetful.learnt(), whole.learnt()));
    });
  }
}

std::string stderr_of(const std::function<void()>& call) {
  testing::internal::CaptureStderr();
  call();
  return testing::internal::GetCapturedStderr();
}

// The mean of what ranks left out is what their gradients lack: it stays the same.
TEST(HookCheckpoint, gives_another_number_of_ranks_the_mean_and_says_so) {
  const TempDir directory;
  const auto path = directory.path() / "c";
  run_ddp(2, "shm", [&](const World& world, Communicator& communicator) {
    const auto hook = make_power_sgd_hook(kThin);
    DdpRun run(world, communicator, hook);
    run.train(0, 5);
    run.save(path, 5);
    for (const auto& [name, tensor] : hook->state().own) {
      auto mean = tensor.clone();
      communicator.run(
          all_reduce({static_cast<std::byte*>(mean.data_ptr()), mean.nbytes()}, DType::f32, Reduction::avg));
      if (world.rank == 0) torch::save(mean, (directory.path() / name).string());
    }
  });
  run_ddp(3, "shm", [&](const World& world, Communicator& communicator) {
    const auto hook = make_power_sgd_hook(kThin);
    DdpRun run(world, communicator, hook);
    const auto said = stderr_of([&] { run.load(path); });
    const std::string expected = world.rank == 0 ? "on each of 2 ranks goes on as its mean on each of 3" : "";
    EXPECT_THAT(said, HasSubstr(expected));
    EXPECT_FALSE(hook->state().own.empty());
    for (const auto& [name, tensor] : hook->state().own) {
      torch::Tensor mean;
      torch::load(mean, (directory.path() / name).string());
      EXPECT_TRUE(torch::allclose(tensor, mean, 1e-6, 1e-9)) << name;
      EXPECT_GT(tensor.abs().max().item<float>(), 0) << name;
    }
    run.train(5, 6);
    expect_identical(communicator, {run.learnt()});
  });
}

TEST(HookCheckpoint, without_anything_of_the_hook_begins_it_anew_and_says_so) {
  const TempDir directory;
  const auto path = directory.path() / "c";
  run_ddp(2, "shm", [&](const World& world, Communicator& communicator) {
    DdpRun run(world, communicator, make_power_sgd_hook(kThin));
    run.train(0, 3);
    auto state = run.state();
    EXPECT_THAT(error_of([&] { save_checkpoint(path, state, {.step = 3}, communicator); }),
                HasSubstr("differs from rank to rank"));
    state.hook = nullptr;  // as checkpoints were before
    save_checkpoint(path, state, {.step = 3}, communicator);
    DdpRun resumed(world, communicator, make_power_sgd_hook(kThin));
    const auto said = stderr_of([&] { EXPECT_EQ(resumed.load(path), 3); });
    const std::string expected =
        world.rank == 0 ? "compression keeps from step to step, which begins anew" : "";
    EXPECT_THAT(said, HasSubstr(expected));
    EXPECT_TRUE(torch::equal(resumed.learnt(), run.learnt()));
  });
}

TEST(HookCheckpoint, of_another_hook_is_refused_before_anything_changes) {
  const TempDir directory;
  run_ddp(2, "shm", [&](const World& world, Communicator& communicator) {
    DdpRun run(world, communicator, make_power_sgd_hook(kThin));
    run.train(0, 4);
    run.save(directory.path() / "c", 4);
    DdpRun other(world, communicator, make_power_sgd_hook({.rank = 2, .min_compression = 1}));
    const auto before = other.learnt();
    EXPECT_THAT(error_of([&] { other.load(directory.path() / "c"); }), HasSubstr("matrices of rank 2"));
    EXPECT_TRUE(torch::equal(other.learnt(), before));
    const auto hook = make_power_sgd_hook(kThin);
    EXPECT_THAT(error_of([&] { hook->restore({.shared = {}, .own = {}}); }), HasSubstr("how many steps"));
    EXPECT_THAT(error_of([&] {
                  hook->restore({.shared = {}, .own = {{"x", torch::zeros(1)}}});
                }),
                HasSubstr("'x' was not saved by PowerSGD"));
  });
}

}  // namespace
}  // namespace gradwire
