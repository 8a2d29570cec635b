#include "train/loop/hook_place.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(HookPlace, of_a_model_that_is_whole_changes_no_name) {
  for (const char* name : {"3.error", "steps", "12.guess", "my own.thing"}) {
    EXPECT_EQ(saved_name({}, name), name);
    EXPECT_EQ(find_own_name({}, name), name);
  }
}

TEST(HookPlace, gives_parameters_the_models_numbers_and_takes_them_back) {
  const HookPlace stage{.rank = 0, .ranks = 2, .parameters = {"7", "8", "0 again"}};
  EXPECT_EQ(saved_name(stage, "1.error"), "8.error");
  EXPECT_EQ(saved_name(stage, "2.guess"), "0 again.guess");
  EXPECT_EQ(saved_name(stage, "steps"), "steps");
  EXPECT_EQ(find_own_name(stage, "8.error"), "1.error");
  EXPECT_EQ(find_own_name(stage, "0 again.guess"), "2.guess");
  EXPECT_EQ(find_own_name(stage, "0.guess"), std::nullopt) << "of another stage";
  EXPECT_EQ(find_own_name({}, "0 again.guess"), std::nullopt);
  EXPECT_EQ(find_own_name(stage, "steps"), "steps");
}

TEST(HookPlace, tells_parts_of_tensors_apart) {
  const HookPlace second{.part = 1, .parts = 2, .parameters = {"4", "5"}};
  EXPECT_EQ(saved_name(second, "1.error"), "5 part 1 of 2.error");
  EXPECT_EQ(find_own_name(second, "5 part 1 of 2.error"), "1.error");
  EXPECT_EQ(find_own_name(second, "5 part 0 of 2.error"), std::nullopt);
  EXPECT_TRUE(is_cut_alike(second, "5 part 0 of 2.error"));
  EXPECT_FALSE(is_cut_alike(second, "5 part 0 of 4.error"));
  EXPECT_FALSE(is_cut_alike(second, "5.error"));
  EXPECT_FALSE(is_cut_alike({}, "5 part 0 of 2.error"));
  EXPECT_TRUE(is_cut_alike(second, "steps"));
}

}  // namespace
}  // namespace gradwire
