#include "train/loop/rank_name.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(RankName, is_read_as_it_is_written) {
  for (const auto& name : {RankName{"hook.3.error", 1, 2}, RankName{"a@b-of-c", 0, 1}, RankName{"", 63, 64}})
    EXPECT_EQ(find_rank_name(rank_name(name)), name);
  EXPECT_EQ(rank_name({"hook.3.error", 1, 2}), "hook.3.error@1-of-2");
}

TEST(RankName, is_none_where_a_name_says_what_cannot_be) {
  for (const char* name :
       {"", "fc1.weight", "w@", "w@1", "w@1-of-", "w@-of-2", "w@2-of-2", "w@-1-of-2", "w@0-of-0", "w@00-of-2",
        "w@0-of-02", "w@0-of-2 ", "w@+0-of-2", "w-of-2@0", "w@0-of-99999999999"})
    EXPECT_FALSE(find_rank_name(name)) << name;
}

}  // namespace
}  // namespace gradwire
