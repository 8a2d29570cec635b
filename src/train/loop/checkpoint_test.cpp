#include "train/loop/checkpoint.h"

#include <gmock/gmock.h>

#include <functional>

#include "base/error.h"
#include "base/files.h"
#include "comm/make.h"
#include "support/error_of.h"
#include "train/loop/checkpoint_fixture.h"
#include "train/loop/share_result.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

class Checkpoints : public testing::TestWithParam<std::tuple<int, int, bool, bool>> {};

// Losses of the steps after a restart equal those of a run that never stopped.
TEST_P(Checkpoints, go_on_as_if_nothing_had_happened_on_another_number_of_ranks) {
  const auto [before, after, sharded, adam] = GetParam();
  const TempDir directory;
  const auto path = directory.path() / "run.ckpt";
  on_ranks(before, [&, sharded = sharded, adam = adam](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Trained trained(1, 5, adam);
    save_checkpoint(path, trained.state, {.step = 3, .epoch = 1}, *communicator, {.sharded = sharded});
  });
  Trained reference(1, 5, adam);
  const double next = reference.step(), after_next = reference.step();
  on_ranks(after, [&, adam = adam](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Trained other(2 + world.rank, 5, adam);
    EXPECT_EQ(load_checkpoint(path, other.state, *communicator), (TrainingPosition{3, 1}));
    EXPECT_DOUBLE_EQ(other.step(), next);
    EXPECT_DOUBLE_EQ(other.step(), after_next);
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, Checkpoints,
                         testing::Combine(testing::Values(1, 3), testing::Values(1, 2), testing::Bool(),
                                          testing::Bool()));

TEST(Checkpoint, keeps_the_scale_of_the_loss) {
  const TempDir directory;
  const TrainingPosition position{.step = 3, .epoch = 1, .loss_scale = 1.0 / 3, .good_steps = 17};
  on_ranks(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Trained trained(1);
    for (const bool sharded : {false, true}) {
      save_checkpoint(directory.path() / "c", trained.state, position, *communicator, {.sharded = sharded});
      EXPECT_EQ(load_checkpoint(directory.path() / "c", trained.state, *communicator), position);
    }
  });
}

TEST(Checkpoint, whose_saving_throws_anything_is_an_error_on_every_rank) {
  on_ranks(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    const auto share = [&](const std::function<std::string()>& function) {
      return [&, function] { share_result(*communicator, 0, function); };
    };
    EXPECT_THAT(share([]() -> std::string { throw std::filesystem::filesystem_error("no folder", {}); }),
                testing::ThrowsMessage<FileError>(HasSubstr("no folder")));
    EXPECT_THAT(share([]() -> std::string { TORCH_CHECK(false, "no tensor"); }),
                testing::ThrowsMessage<FileError>(HasSubstr("no tensor")));
  });
}

TEST(Checkpoint, without_a_checksum_of_ours_is_loaded_only_when_asked_for) {
  const TempDir directory;
  const auto path = directory.path() / "c";
  on_ranks(1, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Trained trained(1), other(2);
    save_checkpoint(path, trained.state, {.step = 7}, *communicator);
    auto content = read_file(path);
    content.replace(content.find("gradwire.checksum"), 17, "somebody.checksum");
    write_file(path, content);
    EXPECT_THAT(error_of([&] { load_checkpoint(path, other.state, *communicator); }),
                HasSubstr("no checksum of gradwire"));
    EXPECT_EQ(load_checkpoint(path, other.state, *communicator, Unchecked::accept).step, 7);
    EXPECT_DOUBLE_EQ(other.step(), trained.step());
  });
}

TEST(Checkpoint, that_does_not_fit_is_an_error_on_every_rank_that_names_the_tensor) {
  const TempDir directory;
  const auto path = directory.path() / "c";
  on_ranks(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Trained trained(1);
    save_checkpoint(path, trained.state, {}, *communicator);
    Trained wider(1, 6);
    const auto before = wider.model->parameters()[0].clone();
    EXPECT_THAT(error_of([&] { load_checkpoint(path, wider.state, *communicator); }),
                HasSubstr("'0.weight' is Float 5x3 in it and Float 6x3 in this model"));
    EXPECT_TRUE(torch::equal(before, wider.model->parameters()[0])) << "nothing is changed";
    Trained sgd(1, 5, false);
    load_checkpoint(path, sgd.state, *communicator);  // another optimizer begins anew
  });
}

TEST(Checkpoint, refuses_an_optimizer_it_does_not_know_by_name) {
  const TempDir directory;
  on_ranks(1, [&](const World& world) {
    Trained trained(1);
    torch::optim::RMSprop other(trained.model->parameters());
    trained.state.optimizer = &other;
    EXPECT_THAT(error_of([&] {
                  save_checkpoint(directory.path() / "c", trained.state, {},
                                  *make_communicator(world, "shm"));
                }),
                HasSubstr("SGD, Adam and AdamW"));
  });
}

}  // namespace
}  // namespace gradwire
