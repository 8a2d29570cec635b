#include "train/tensor/cut.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "train/tensor/cut_name.h"

namespace gradwire {
namespace {

TEST(TensorCut, every_place_belongs_to_one_part_and_parts_differ_by_one_at_most) {
  for (std::int64_t total = 0; total <= 40; ++total)
    for (int parts = 1; parts <= 9; ++parts) {
      std::int64_t next = 0;
      for (int index = 0; index < parts; ++index) {
        const Share share = share_of(total, parts, index);
        EXPECT_EQ(share.begin, next);
        EXPECT_GE(share.count, total / parts);
        EXPECT_LE(share.count, total / parts + 1);
        next = share.end();
      }
      EXPECT_EQ(next, total);
    }
}

TEST(TensorCut, blocks_are_cut_each_by_itself) {
  // Queries, keys and values of 4 heads of width 2 are rows 0-7, 8-15 and 16-23; the second of two ranks has
  // heads 2 and 3 of each.
  EXPECT_EQ(shares_of(24, 3, 2, 1), (std::vector<Share>{{4, 4}, {12, 4}, {20, 4}}));
  for (int blocks = 1; blocks <= 4; ++blocks)
    for (int parts = 1; parts <= 5; ++parts) {
      std::vector<int> owners(static_cast<std::size_t>(blocks) * 10, 0);
      for (int index = 0; index < parts; ++index)
        for (const Share& share : shares_of(blocks * 10, blocks, parts, index))
          for (auto at = share.begin; at < share.end(); ++at) ++owners[static_cast<std::size_t>(at)];
      EXPECT_EQ(owners, std::vector<int>(owners.size(), 1));
    }
}

TEST(CutName, says_which_part_and_is_read_back) {
  const CutName name{"qkv.weight", {{.dim = 0, .blocks = 3}, 2, 1}};
  EXPECT_EQ(cut_name(name), "qkv.weight{1-of-2 dim 0 blocks 3}");
  EXPECT_EQ(find_cut_name(cut_name(name)), name);
  EXPECT_EQ(cut_name({"norm.bias", {{}, 2, 1}}), "norm.bias");
}

TEST(CutName, is_nothing_where_it_says_what_cant_be) {
  for (const char* name :
       {"", "w", "{0-of-2 dim 0 blocks 1}", "w{2-of-2 dim 0 blocks 1}", "w{0-of-2 dim -1 blocks 1}",
        "w{0-of-2 dim 0 blocks 0}", "w{0-of-0 dim 0 blocks 1}", "w{0-of-2 dim 0}",
        "w{0-of-99999999999 dim 0 blocks 1}", "w{0-of-2 dim 0 blocks 1", "w{0of2 dim 0 blocks 1}", "w{}",
        "w}"})
    EXPECT_FALSE(find_cut_name(name)) << name;
}

TEST(CutName, parts_must_be_all_of_one_tensor) {
  const auto part = [](int index) { return TensorPart{{.dim = 0, .blocks = 1}, 2, index}; };
  EXPECT_NO_THROW(check_parts({part(0), part(1)}, {11, 10}));
  EXPECT_THROW(check_parts({part(0)}, {11}), ConfigError) << "the other is missing";
  EXPECT_THROW(check_parts({part(0), part(1)}, {10, 11}), ConfigError) << "the first has the word more";
  EXPECT_THROW(check_parts({part(0), part(0)}, {10, 10}), ConfigError);
  EXPECT_THROW(check_parts({part(0), {{.dim = 1}, 2, 1}}, {10, 10}), ConfigError);
}

TEST(TensorCut, what_does_not_divide_is_named) {
  EXPECT_NO_THROW(check_divides("4 heads", 4, 2));
  try {
    check_divides("4 heads", 4, 3);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(), "4 heads can't be divided among 3 ranks of a tensor-parallel group");
  }
}

}  // namespace
}  // namespace gradwire
