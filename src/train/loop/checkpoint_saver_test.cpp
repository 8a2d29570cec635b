#include "train/loop/checkpoint_saver.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "base/kept_files.h"
#include "comm/make.h"
#include "support/error_of.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

TrainingState state_of(const torch::Tensor& weights) { return {{{{"weights", weights}}, {}}, nullptr}; }

TEST(CheckpointSaver, writes_what_the_state_was_when_it_was_asked) {
  const TempDir folder;
  const auto path = folder.path() / "run.ckpt";
  expect_all_ok(run_threads(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    CheckpointSaver saver(path, *communicator, {});
    const auto weights = torch::full({1 << 20}, 1.0F);
    EXPECT_TRUE(saver.save(state_of(weights), {.step = 1, .epoch = 0}));
    saver.settle();
    weights.fill_(2);  // while it is written
    saver.finish();
    const auto loaded = torch::zeros({1 << 20});
    EXPECT_EQ(load_checkpoint(path, state_of(loaded), *communicator).step, 1);
    EXPECT_TRUE(loaded.eq(1).all().item<bool>());
    EXPECT_TRUE(saver.save(state_of(weights), {.step = 2, .epoch = 0}));  // into the memory of the first
    saver.finish();
    EXPECT_EQ(load_checkpoint(path, state_of(loaded), *communicator).step, 2);
    EXPECT_TRUE(loaded.eq(2).all().item<bool>());
  }));
}

// As normalization does in the next forward.
TEST(CheckpointSaver, lets_buffers_change_at_once) {
  const TempDir folder;
  const auto path = folder.path() / "run.ckpt";
  expect_all_ok(run_threads(1, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    CheckpointSaver saver(path, *communicator, {});
    const auto weights = torch::ones({1 << 20}), mean = torch::full({64}, 3.0F);
    const TrainingState state{{{{"weights", weights}}, {{"mean", mean}}}, nullptr};
    saver.save(state, {.step = 1, .epoch = 0});
    mean.fill_(4);
    saver.finish();
    load_checkpoint(path, state, *communicator);
    EXPECT_TRUE(mean.eq(3).all().item<bool>());
  }));
}

// Asked as fast as it goes, it takes some and leaves out others; the last that it took is on the disk.
TEST(CheckpointSaver, leaves_out_what_comes_too_soon) {
  const TempDir folder;
  const auto path = folder.path() / "run.ckpt";
  expect_all_ok(run_threads(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    CheckpointSaver saver(path, *communicator, {});
    const auto weights = torch::ones({1 << 22});
    std::int64_t last = 0;
    for (std::int64_t step = 1; step <= 20 || saver.left_out() == 0; ++step)
      if (saver.save(state_of(weights), {.step = step, .epoch = 0})) last = step;
    saver.finish();
    EXPECT_EQ(load_checkpoint(path, state_of(weights), *communicator).step, last);
  }));
}

TEST(CheckpointSaver, tells_all_ranks_at_the_next_save_that_one_has_failed) {
  const TempDir folder;
  std::filesystem::create_directory(folder.path() / "run.ckpt");  // nothing can be put in its place
  expect_all_ok(run_threads(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    CheckpointSaver saver(folder.path() / "run.ckpt", *communicator, {});
    const auto weights = torch::ones({16});
    EXPECT_TRUE(saver.save(state_of(weights), {.step = 1, .epoch = 0}));
    EXPECT_THAT(error_of([&] { saver.finish(); }), HasSubstr("run.ckpt"));
  }));
}

TEST(CheckpointSaver, keeps_as_many_as_it_is_told_sharded_or_not) {
  for (const bool sharded : {false, true}) {
    const TempDir folder;
    const auto path = folder.path() / "run.ckpt";
    expect_all_ok(run_threads(2, [&](const World& world) {
      const auto communicator = make_communicator(world, "shm");
      CheckpointSaver saver(path, *communicator, {.sharded = sharded, .keep = 2});
      for (std::int64_t step = 1; step <= 4; ++step) {
        const auto state =
            state_of(torch::full({8}, static_cast<double>(step)));  // outlives its copying, as a model does
        saver.save(state, {.step = step, .epoch = 0});
        saver.finish();
      }
      const auto loaded = torch::zeros({8});
      const auto older = path.string() + ".step-3";
      EXPECT_EQ(load_checkpoint(older, state_of(loaded), *communicator).step, 3);
      EXPECT_TRUE(loaded.eq(3).all().item<bool>());
    }));
    EXPECT_EQ(list_versions(path).size(), 2U);
    for (const auto& version : list_versions(path)) EXPECT_EQ(find_fault(version), std::nullopt);
  }
}

}  // namespace
}  // namespace gradwire
