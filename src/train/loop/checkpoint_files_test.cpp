// What of a checkpoint lies on the disk: whole files of one run, or none.
#include <gmock/gmock.h>

#include <fstream>
#include <set>

#include "base/files.h"
#include "comm/make.h"
#include "support/error_of.h"
#include "train/loop/checkpoint_files.h"
#include "train/loop/checkpoint_fixture.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

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

// Running means of a rank are of its own batches; ranks go on with rank 0's.
TEST(Checkpoint, of_parts_has_the_buffers_of_rank_0) {
  const TempDir directory;
  on_ranks(2, [&](const World& world) {
    const auto communicator = make_communicator(world, "shm");
    Trained trained(1);
    for (const auto& buffer : trained.state.model.buffers) torch::Tensor(buffer.tensor).fill_(world.rank);
    save_checkpoint(directory.path() / "c", trained.state, {.step = 1}, *communicator, {.sharded = true});
    load_checkpoint(directory.path() / "c", trained.state, *communicator);
    for (const auto& [name, tensor] : trained.state.model.buffers)
      EXPECT_TRUE(tensor.eq(0).all().item<bool>()) << name;
  });
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

// A run that is being loaded elsewhere goes on saving: what was read of its list is no longer true when the loader cleans up.
TEST(Checkpoint, that_another_run_has_saved_meanwhile_stays_when_leftovers_are_removed) {
  const TempDir directory;
  const auto path = directory.path() / "c";
  const auto save = [&](int step) {
    on_ranks(2, [&](const World& world) {
      Trained trained(1);
      save_checkpoint(path, trained.state, {.step = step}, *make_communicator(world, "shm"),
                      {.sharded = true});
    });
    return parts_in(TensorFile(path).notes());
  };
  const auto loaded = save(1);
  save(2);
  write_file(directory.path() / "c.step-3.01234567.0-of-2", "of a run that was killed");
  const auto before = names_in(directory);
  remove_leftovers(path, loaded);
  EXPECT_EQ(names_in(directory).size(), before.size() - 1) << "what the killed run left is gone";
  EXPECT_EQ(find_fault(path), std::nullopt);
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

}  // namespace
}  // namespace gradwire
