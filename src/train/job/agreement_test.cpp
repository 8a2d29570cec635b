#include "train/job/agreement.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "net/store/memory.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(Agreement, names_the_flag_and_both_values) {
  TrainOptions mine, theirs;
  mine.learning_rate = 0.05, theirs.learning_rate = 0.01;
  EXPECT_EQ(find_difference(mine, theirs), "--lr is 0.05 here and 0.01 on rank 0");
}

TEST(Agreement, checks_whether_there_are_files_and_not_their_names) {
  TrainOptions mine, theirs;
  mine.checkpoint = "/scratch/a";
  EXPECT_EQ(find_difference(mine, theirs), "--checkpoint is given here alone");
  theirs.checkpoint = "/home/b";
  theirs.trace = "only there";
  EXPECT_EQ(find_difference(mine, theirs), "");
}

TEST(Agreement, is_refused_on_the_rank_that_differs) {
  World first, second;
  first.size = second.size = 2;
  second.rank = 1;
  first.store = second.store = std::make_shared<MemoryStore>();
  TrainOptions sgd, adam;
  sgd.optimizer = OptimizerKind::sgd, adam.optimizer = OptimizerKind::adamw;
  agree_on_options(first, sgd);
  EXPECT_NO_THROW(agree_on_options(second, sgd));
  EXPECT_THAT(
      [&] { agree_on_options(second, adam); },
      ThrowsMessage<ConfigError>(HasSubstr("rank 1: --optimizer is \"adamw\" here and \"sgd\" on rank 0")));
}

}  // namespace
}  // namespace gradwire
