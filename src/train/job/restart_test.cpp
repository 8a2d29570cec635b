#include "train/job/restart.h"

#include <gmock/gmock.h>

#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "base/kept_files.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::EndsWith;
using testing::HasSubstr;
using testing::Not;

std::optional<std::string> all_whole(const std::filesystem::path&) { return std::nullopt; }

std::optional<std::string> whole_but_for_bad(const std::filesystem::path& path) {
  if (read_file(path) == "bad") return path.filename().string() + " is damaged";
  return std::nullopt;
}

Beginning begin(const TrainOptions& options, int restarts) {
  return find_beginning(options, restarts, all_whole);
}

TEST(Restart, goes_on_from_the_checkpoint_that_the_run_has_written) {
  const TempDir directory;
  TrainOptions options;
  options.checkpoint = (directory.path() / "c.ckpt").string();
  options.steps = 50;
  write_file(options.checkpoint, "of an earlier run");
  options = prepare_for_restarts(options, 2);
  EXPECT_EQ(options.checkpoint_every, 5);

  EXPECT_EQ(begin(options, 0).resume, "");
  EXPECT_EQ(begin(options, 0).kind, BeginningKind::as_asked);
  EXPECT_EQ(begin(options, 1).resume, "") << "not from what lay there before";
  EXPECT_EQ(begin(options, 1).kind, BeginningKind::starting_over);
  EXPECT_THAT(begin(options, 1).why, HasSubstr("was not written yet"));

  write_file(options.checkpoint, "of this run");
  EXPECT_EQ(begin(options, 0).resume, "");
  EXPECT_EQ(begin(options, 1).resume, options.checkpoint);
  EXPECT_EQ(begin(options, 1).kind, BeginningKind::resuming);
}

TEST(Restart, says_how_to_go_on_with_what_a_failed_run_has_saved) {
  const TempDir directory;
  TrainOptions options;
  const auto after = [&] { return how_to_go_on(options, "gradwire train mlp --resume c.ckpt"); };
  EXPECT_THAT(after(), AllOf(HasSubstr("nothing was saved"), HasSubstr("--checkpoint FILE"),
                             HasSubstr("--max-restarts")));
  options.checkpoint = (directory.path() / "c.ckpt").string();
  write_file(options.checkpoint, "of an earlier run");
  options = prepare_for_restarts(options, 0);
  EXPECT_THAT(after(), AllOf(HasSubstr("c.ckpt was not written yet"), HasSubstr("from step 0"),
                             HasSubstr("--checkpoint-every")));
  write_file(options.checkpoint, "of this run");
  EXPECT_THAT(after(), AllOf(HasSubstr("c.ckpt is there to go on from"), HasSubstr("--max-restarts"),
                             EndsWith(":\n  gradwire train mlp --resume c.ckpt")));
  options.max_restarts = 2;
  EXPECT_THAT(after(), Not(HasSubstr("--max-restarts")));
}

TEST(Restart, takes_the_newest_checkpoint_that_is_whole) {
  const TempDir directory;
  TrainOptions options;
  options.checkpoint = options.resume = (directory.path() / "c.ckpt").string();
  for (const int step : {1, 2}) {
    write_file(options.checkpoint, step == 2 ? "bad" : "good");
    keep_version(options.checkpoint, step, 3);
  }
  const auto resumed = find_beginning(options, 0, whole_but_for_bad);
  EXPECT_EQ(resumed.resume, options.checkpoint + ".step-1");
  EXPECT_EQ(resumed.kind, BeginningKind::resuming);
  EXPECT_THAT(resumed.why, HasSubstr("c.ckpt is damaged"));
  EXPECT_EQ(find_beginning(options, 0, all_whole).resume, options.checkpoint);
  EXPECT_EQ(find_beginning(options, 0, all_whole).kind, BeginningKind::as_asked);

  options = prepare_for_restarts(options, 1);
  write_file(options.checkpoint, "bad");
  keep_version(options.checkpoint, 3, 3);
  EXPECT_EQ(find_beginning(options, 1, whole_but_for_bad).resume, options.checkpoint)
      << "what lay there before is not taken, even if it is all that is whole";
}

TEST(Restart, goes_on_from_what_is_kept_beside_a_checkpoint_that_is_gone) {
  const TempDir directory;
  TrainOptions options;
  options.model = "mlp";
  options.resume = (directory.path() / "c.ckpt").string();
  EXPECT_THROW(complete(options), ConfigError);
  write_file(options.resume, "good");
  keep_version(options.resume, 7, 2);
  std::filesystem::remove(options.resume);
  EXPECT_EQ(complete(options).resume, options.resume);
  EXPECT_EQ(begin(options, 0).resume, options.resume + ".step-7");
  EXPECT_THAT(begin(options, 0).why, HasSubstr("c.ckpt is not there"));
}

TEST(Restart, begins_as_the_first_time_where_nothing_was_kept) {
  TrainOptions options;
  options.resume = "old.ckpt";
  EXPECT_EQ(prepare_for_restarts(options, 3).checkpoint_every, 0);
  EXPECT_EQ(begin(options, 1).resume, "old.ckpt");
  EXPECT_THAT(begin(options, 1).why, HasSubstr("without --checkpoint nothing was kept"));
}

TEST(Restart, tells_our_launcher_alone_that_nothing_is_left_to_do) {
  ::unsetenv("GRADWIRE_RESTART");
  EXPECT_EQ(code_of_unwritten(), 1);
  ::setenv("GRADWIRE_RESTART", "0", 1);
  EXPECT_EQ(code_of_unwritten(), kUnwritten);
  ::unsetenv("GRADWIRE_RESTART");
}

TEST(Restart, leaves_a_run_alone_that_is_started_once) {
  TrainOptions options;
  options.checkpoint = "c.ckpt";
  EXPECT_EQ(prepare_for_restarts(options, 0).checkpoint_every, 0);
  EXPECT_EQ(file_version("no such file"), "");
}

}  // namespace
}  // namespace gradwire
