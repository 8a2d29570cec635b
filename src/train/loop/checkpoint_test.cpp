#include "train/loop/checkpoint.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <mutex>
#include <set>

#include "base/error.h"
#include "base/files.h"
#include "comm/make.h"
#include "support/error_of.h"
#include "support/run_ranks.h"
#include "train/loop/share_result.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;
using testing::HasSubstr;

// A model after a few steps of training, in a state that no other seed gives.
struct Trained {
  explicit Trained(int seed, int width = 5, bool adam = true) {
    static std::mutex one_at_a_time;  // ranks are threads here, and the seed is the process's
    std::unique_lock lock(one_at_a_time);
    torch::manual_seed(static_cast<std::uint64_t>(seed));
    model = nn::Sequential(nn::Linear(3, width), nn::BatchNorm1d(width), nn::Linear(width, 2));
    lock.unlock();
    for (const auto& item : model->named_parameters())
      state.model.parameters.push_back({item.key(), item.value()});
    for (const auto& item : model->named_buffers()) state.model.buffers.push_back({item.key(), item.value()});
    if (adam)
      optimizer =
          std::make_unique<torch::optim::AdamW>(model->parameters(), torch::optim::AdamWOptions(0.01));
    else
      optimizer = std::make_unique<torch::optim::SGD>(model->parameters(),
                                                      torch::optim::SGDOptions(0.1).momentum(0.9));
    state.optimizer = optimizer.get();
    for (int i = 0; i < 3; ++i) step();
  }

  double step() {
    optimizer->zero_grad();
    const auto loss = model->forward(torch::linspace(0, 1, 12).view({4, 3})).square().mean();
    loss.backward();
    optimizer->step();
    return loss.item<double>();
  }

  nn::Sequential model{nullptr};
  std::unique_ptr<torch::optim::Optimizer> optimizer;
  TrainingState state;
};

void on_ranks(int ranks, const RankFunction& function) { expect_all_ok(run_threads(ranks, function)); }

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

std::vector<std::string> names_in(const TempDir& directory) {
  std::set<std::string> names;
  for (const auto& entry : std::filesystem::directory_iterator(directory.path()))
    names.insert(entry.path().filename());
  return {names.begin(), names.end()};
}

TEST(Checkpoint, leaves_no_old_parts_and_no_half_written_ones) {
  const TempDir directory;
  on_ranks(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Trained trained(1);
    for (const int step : {1, 2})
      save_checkpoint(directory.path() / "c", trained.state, {.step = step}, *communicator,
                      {.sharded = true});
  });
  const auto names = names_in(directory);
  ASSERT_EQ(names.size(), 3u);
  EXPECT_EQ(names[0], "c");
  EXPECT_THAT(names[1], testing::MatchesRegex("c\\.step-2\\.[0-9a-f]{8}\\.0-of-2"));
  EXPECT_THAT(names[2], testing::MatchesRegex("c\\.step-2\\.[0-9a-f]{8}\\.1-of-2"));
}

// Two runs of one name, the second killed between its parts and its list: of the second nothing counts.
TEST(Checkpoint, never_mixes_the_parts_of_two_runs_and_keeps_the_whole_one) {
  const TempDir directory, other;
  const auto path = directory.path() / "c";
  for (const auto& [place, seed] : {std::pair(&directory, 1), std::pair(&other, 2)})
    on_ranks(2, [&, place = place, seed = seed](const World& world) {
      const auto communicator = make_communicator(world, "shm");
      Trained trained(seed);
      save_checkpoint(place->path() / "c", trained.state, {.step = 3}, *communicator, {.sharded = true});
    });
  const auto killed = names_in(other);
  std::filesystem::copy(other.path() / killed[1], directory.path() / killed[1]);
  write_file(directory.path() / "c.writing-0123abcd", "half a list");
  write_file(directory.path() / "c.step-4.01234567.1-of-2.writing-0123abcd", "half a part");
  Trained first(1);
  const double next = first.step();
  on_ranks(2, [&](const World& world) {
    Trained resumed(3);
    load_checkpoint(path, resumed.state, *make_communicator(world, "shm"));
    EXPECT_DOUBLE_EQ(resumed.step(), next);
  });
  EXPECT_EQ(names_in(directory).size(), 3u) << "what the killed run left is gone";
  // A part of another run under the right name is noticed.
  const auto names = names_in(directory);
  std::filesystem::copy(other.path() / killed[1], directory.path() / names[1],
                        std::filesystem::copy_options::overwrite_existing);
  on_ranks(1, [&](const World& world) {
    Trained resumed(3);
    EXPECT_THAT(error_of([&] { load_checkpoint(path, resumed.state, *make_communicator(world, "shm")); }),
                HasSubstr("not the part that its checkpoint was written with"));
  });
}

// In turn, of the list and of the parts it lists.
TEST(Checkpoint, with_any_byte_of_any_of_its_files_flipped_is_refused) {
  const TempDir directory;
  on_ranks(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Trained trained(1, 2);
    save_checkpoint(directory.path() / "c", trained.state, {.step = 3}, *communicator, {.sharded = true});
  });
  ASSERT_EQ(find_fault(directory.path() / "c"), std::nullopt);
  for (const auto& name : names_in(directory)) {
    const auto path = directory.path() / name;
    const auto whole = read_file(path);
    std::fstream file(path, std::ios::in | std::ios::out | std::ios::binary);
    for (std::size_t i = 0; i < whole.size(); ++i) {
      const auto put = [&](char byte) { file.seekp(static_cast<std::streamoff>(i)).put(byte).flush(); };
      put(static_cast<char>(whole[i] ^ 0x10));
      EXPECT_NE(find_fault(directory.path() / "c"), std::nullopt) << name << ", byte " << i;
      put(whole[i]);
    }
  }
  EXPECT_EQ(find_fault(directory.path() / "c"), std::nullopt);
}

TEST(Checkpoint, that_one_rank_can_not_write_leaves_no_part_and_keeps_the_one_before) {
  const TempDir directory;
  const auto path = directory.path() / "c";
  const auto save = [&](const World& world, int step) {
    const auto communicator = make_communicator(world, "shm");
    Trained trained(1);
    if (step == 2 && world.rank == 1) {
      trained.state.optimizer = nullptr;
      for (auto* group : {&trained.state.model.parameters, &trained.state.model.buffers})
        for (auto& entry : *group) entry.tensor = torch::zeros(1, torch::kComplexFloat);
    }
    return error_of(
        [&] { save_checkpoint(path, trained.state, {.step = step}, *communicator, {.sharded = true}); });
  };
  on_ranks(2, [&](const World& world) { EXPECT_EQ(save(world, 1), ""); });
  const auto before = names_in(directory);
  on_ranks(2, [&](const World& world) { EXPECT_THAT(save(world, 2), HasSubstr("can't be saved")); });
  EXPECT_EQ(names_in(directory), before);
}

class Unkept : public testing::TestWithParam<bool> {};

// A folder lies where the older version is to be kept.
TEST_P(Unkept, checkpoints_are_whole_all_the_same) {
  const TempDir directory;
  const auto path = directory.path() / "c";
  std::filesystem::create_directories(directory.path() / "c.step-3" / "full");
  on_ranks(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Trained trained(1);
    for (const int step : {2, 3})
      save_checkpoint(path, trained.state, {.step = step}, *communicator, {.sharded = GetParam(), .keep = 2});
    EXPECT_EQ(load_checkpoint(path, trained.state, *communicator).step, 3);
  });
  EXPECT_EQ(find_fault(path), std::nullopt);
  EXPECT_EQ(find_fault(directory.path() / "c.step-2"), std::nullopt);
}

INSTANTIATE_TEST_SUITE_P(Checkpoint, Unkept, testing::Bool());

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

TEST(Checkpoint, that_is_cut_foreign_or_not_there_is_an_error_on_every_rank) {
  const TempDir directory;
  const auto path = directory.path() / "c";
  on_ranks(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Trained trained(1);
    save_checkpoint(path, trained.state, {}, *communicator, {.sharded = true});
    const auto load = [&](const char* name) {
      return error_of([&] { load_checkpoint(directory.path() / name, trained.state, *communicator); });
    };
    EXPECT_THAT(load("none"), HasSubstr("none: No such file"));
    communicator->run(barrier());
    if (world.rank == 0) {
      const auto part = directory.path() / names_in(directory)[2];
      const auto whole = read_file(part);
      write_file(part, whole.substr(0, whole.size() / 2));
      write_file(directory.path() / "foreign", "PK\x03\x04 something else altogether");
    }
    communicator->run(barrier());
    EXPECT_THAT(load("c"), HasSubstr(".1-of-2: it is cut short"));
    EXPECT_THAT(load("foreign"), HasSubstr("not a checkpoint"));
    EXPECT_THAT(
        error_of([&] { save_checkpoint(directory.path() / "no" / "c", trained.state, {}, *communicator); }),
        HasSubstr("can't write"));
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
