#include "train/job/restart.h"

#include <gmock/gmock.h>

#include "base/files.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

TEST(Restart, goes_on_from_the_checkpoint_that_the_run_has_written) {
  const TempDir directory;
  TrainOptions options;
  options.checkpoint = (directory.path() / "c.ckpt").string();
  options.steps = 50;
  write_file(options.checkpoint, "of an earlier run");
  options = prepare_for_restarts(options, 2);
  EXPECT_EQ(options.checkpoint_every, 5);

  EXPECT_EQ(find_beginning(options, 0).resume, "");
  EXPECT_EQ(find_beginning(options, 0).what, "");
  EXPECT_EQ(find_beginning(options, 1).resume, "") << "not from what lay there before";
  EXPECT_EQ(find_beginning(options, 1).what, "starting over");
  EXPECT_THAT(find_beginning(options, 1).why, HasSubstr("was not written yet"));

  write_file(options.checkpoint, "of this run");
  EXPECT_EQ(find_beginning(options, 0).resume, "");
  EXPECT_EQ(find_beginning(options, 1).resume, options.checkpoint);
  EXPECT_EQ(find_beginning(options, 1).what, "resuming");
}

TEST(Restart, begins_as_the_first_time_where_nothing_was_kept) {
  TrainOptions options;
  options.resume = "old.ckpt";
  EXPECT_EQ(prepare_for_restarts(options, 3).checkpoint_every, 0);
  EXPECT_EQ(find_beginning(options, 1).resume, "old.ckpt");
  EXPECT_THAT(find_beginning(options, 1).why, HasSubstr("without --checkpoint nothing was kept"));
}

TEST(Restart, leaves_a_run_alone_that_is_started_once) {
  TrainOptions options;
  options.checkpoint = "c.ckpt";
  EXPECT_EQ(prepare_for_restarts(options, 0).checkpoint_every, 0);
  EXPECT_EQ(file_version("no such file"), "");
}

}  // namespace
}  // namespace gradwire
