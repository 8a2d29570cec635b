#include "train/data/dataset.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>

#include "base/error.h"
#include "base/files.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using Shape = std::vector<std::int64_t>;

TEST(Digits, are_as_many_of_each_class_in_the_shape_a_model_wants) {
  const auto faces = find_faces();
  ASSERT_FALSE(faces.empty()) << "apt-get install fonts-dejavu-core";
  for (const Shape& shape : {Shape{1024}, Shape{1, 28, 28}, Shape{3, 64, 64}}) {
    const auto once = 10 * static_cast<std::int64_t>(faces.size());
    const auto digits = make_digits(faces, 2 * once + 1, shape);
    EXPECT_EQ(digits->size(), 2 * once);
    EXPECT_EQ(make_digits(faces, 1, shape)->size(), once);
    std::vector<std::int64_t> all(static_cast<std::size_t>(digits->size()));
    std::iota(all.begin(), all.end(), 0);
    const auto batch = digits->get(all);
    EXPECT_EQ(batch.input.sizes().slice(1), at::IntArrayRef(shape));
    EXPECT_EQ(batch.input.max().item<float>(), 1);
    EXPECT_EQ(batch.input.min().item<float>(), -0.5F);
    const auto counts = torch::bincount(batch.target);
    EXPECT_EQ(counts.size(0), 10);
    EXPECT_EQ(counts.min().item<std::int64_t>(), counts.max().item<std::int64_t>());
  }
  EXPECT_THROW(make_digits(faces, 10, {7}), ConfigError);
  EXPECT_THROW(make_digits({}, 10, {1024}), ConfigError);
}

TEST(Digits, for_a_model_say_in_how_many_faces_they_are) {
  const auto data = make_data(find_trainable("convnet"), {});
  EXPECT_THAT(data.what,
              testing::MatchesRegex("printed digits in [0-9]+ faces, tested on [0-9]+ it has not seen"));
  EXPECT_GE(data.train->size(), 2000) << "a few thousand, whatever fonts there are";
  EXPECT_GT(data.test->size(), 0);
}

// "abcdefghij" twenty times over: 200 bytes, of which 190 are for training.
TEST(Text, asks_for_the_next_byte) {
  std::string text;
  for (int i = 0; i < 20; ++i) text += "abcdefghij";
  const auto set = make_text(text, Part::train, {.sequence = 4});
  EXPECT_EQ(set->size(), 189 / 4);
  const std::vector<std::int64_t> second = {1};
  const auto batch = set->get(second);
  EXPECT_TRUE(torch::equal(batch.input, torch::tensor({{101L, 102L, 103L, 104L}})));
  EXPECT_TRUE(torch::equal(batch.target, torch::tensor({{102L, 103L, 104L, 105L}})));
}

TEST(Text, hides_a_part_of_the_bytes_and_asks_for_those) {
  const auto set = make_text(std::string(200'000, 'x'), Part::train, {.sequence = 1000, .masked = true});
  std::vector<std::int64_t> all(100);
  std::iota(all.begin(), all.end(), 0);
  const auto batch = set->get(all);
  const double asked = batch.target.ne(-100).to(torch::kDouble).mean().item<double>();
  const double hidden = batch.input.eq(256).to(torch::kDouble).mean().item<double>();
  EXPECT_NEAR(asked, 0.15, 0.01);
  EXPECT_NEAR(hidden, 0.12, 0.01);
  EXPECT_TRUE(torch::equal(batch.input, set->get(all).input)) << "the same each time";
}

TEST(Text, that_is_too_short_or_not_there_is_refused) {
  EXPECT_THROW(make_text("short", Part::train, {}), ConfigError);
  EXPECT_THROW(make_text("", Part::test, {}), ConfigError);
  EXPECT_THROW(read_text("/nonesuch/file"), ConfigError);
  const TempDir directory;
  EXPECT_THROW(read_text(directory.path()), ConfigError);
  try {
    read_licences(directory.path());
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("--text FILE"));
  }
}

TEST(Text, is_made_of_the_licences_in_a_directory) {
  const TempDir directory;
  write_file(directory.path() / "B", "second");
  write_file(directory.path() / "A", "first ");
  std::filesystem::create_symlink(directory.path() / "A", directory.path() / "C");
  EXPECT_EQ(read_licences(directory.path()), "first second");
}

TEST(GeneratedData, fits_each_model_and_is_the_same_for_a_seed) {
  const std::vector<std::int64_t> two = {0, 70};
  for (const char* name : {"mlp", "convnet", "resnet18", "gpt-tiny", "bert-base"}) {
    const TrainableModel& model = find_trainable(name);
    const DataOptions options{.real = false, .sequence = 16, .image = 32};
    const auto first = make_data(model, options), second = make_data(model, options);
    EXPECT_EQ(first.test, nullptr);
    EXPECT_EQ(first.train->get(two).input.size(0), 2) << name;
    EXPECT_TRUE(torch::equal(first.train->get(two).input, second.train->get(two).input)) << name;
  }
}

}  // namespace
}  // namespace gradwire
