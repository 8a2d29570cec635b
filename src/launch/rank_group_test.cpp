#include "launch/rank_group.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <filesystem>
#include <map>
#include <sstream>

#include "base/error.h"
#include "base/files.h"
#include "net/address/socket.h"
#include "support/has_ended.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class RankGroupTest : public testing::Test {
 protected:
  // Each member runs a line of the shell, with its rank in $RANK and the directory in $DIR.
  std::vector<Member> members(const std::vector<std::string>& lines) const {
    std::vector<Member> members;
    for (Rank rank = 0; rank < static_cast<Rank>(lines.size()); ++rank)
      members.push_back(
          {rank,
           {"sh", "-c", lines[rank]},
           {{"RANK", std::to_string(rank)}, {"DIR", directory_.path().string()}, {"PATH", "/usr/bin:/bin"}}});
    return members;
  }
  static bool finish(RankGroup& group) { return group.wait(Deadline::after(60)); }
  std::string content(const char* name) const { return read_file(directory_.path() / name); }
  Fd open(const char* name) const {
    return Fd(::open((directory_.path() / name).c_str(), O_WRONLY | O_CREAT | O_CLOEXEC, 0600));
  }

  const TempDir directory_;
};

TEST_F(RankGroupTest, passes_lines_on_with_the_rank_in_front) {
  const auto out = open("out"), error = open("error");
  RankGroup group(members({"echo one; echo bad >&2", "printf 'two\\nlines'"}),
                  {.out = out.get(), .error = error.get()});
  ASSERT_TRUE(finish(group));
  EXPECT_FALSE(group.failure());
  EXPECT_TRUE(group.all_well());
  EXPECT_EQ(content("error"), "[0] bad\n");
  EXPECT_THAT(content("out"),
              testing::AllOf(HasSubstr("[0] one\n"), HasSubstr("[1] two\n"), HasSubstr("[1] lines\n")));
}

TEST_F(RankGroupTest, passes_on_all_of_a_long_output) {
  const auto out = open("out");
  RankGroup group(members({"seq 1 200000", "seq 1 200000"}), {.out = out.get()});
  ASSERT_TRUE(finish(group));
  std::map<char, int> next;
  std::istringstream lines(content("out"));
  for (std::string line; std::getline(lines, line);)
    ASSERT_EQ(line.substr(4), std::to_string(++next[line[1]]));
  EXPECT_EQ(next['0'], 200000);
  EXPECT_EQ(next['1'], 200000);
}

TEST_F(RankGroupTest, files_what_each_rank_says_and_appends_after_a_restart) {
  const GroupOptions files{.output = GroupOptions::Output::files, .log_dir = directory_.path() / "a" / "b"};
  for (const bool append : {false, true}) {
    auto options = files;
    options.append = append;
    RankGroup group(members({"echo out; echo error >&2", "echo $RANK"}), options);
    ASSERT_TRUE(finish(group));
  }
  EXPECT_EQ(content("a/b/rank-0.log"), "out\nerror\nout\nerror\n");
  EXPECT_EQ(content("a/b/rank-1.log"), "1\n1\n");
}

TEST_F(RankGroupTest, ends_the_others_when_one_fails_and_names_it) {
  RankGroup group(members({"sleep 1000", "exit 7", "sleep 1000"}), {});
  ASSERT_TRUE(finish(group));
  EXPECT_EQ(describe(group.failure().value()), "rank 1 exited with code 7");
  EXPECT_FALSE(group.all_well());
}

TEST_F(RankGroupTest, names_the_signal_that_killed_a_rank) {
  RankGroup group(members({"sleep 1000", "kill -SEGV $$"}), {});
  ASSERT_TRUE(finish(group));
  EXPECT_EQ(describe(group.failure().value()), "rank 1 was killed by SIGSEGV");
}

TEST_F(RankGroupTest, kills_after_the_grace_time_who_does_not_listen) {
  RankGroup group(members({"trap '' TERM; echo x > $DIR/deaf; while :; do sleep 1000; done",
                           "while ! [ -e $DIR/deaf ]; do :; done; exit 3"}),
                  {.grace = 0.05});
  ASSERT_TRUE(finish(group));
  EXPECT_EQ(group.failure()->rank, 1);
}

TEST_F(RankGroupTest, ends_a_rank_that_is_stopped) {
  RankGroup group(members({"kill -STOP $$", "exit 3"}), {});
  ASSERT_TRUE(finish(group));
  EXPECT_EQ(group.failure()->rank, 1);
}

TEST_F(RankGroupTest, knows_who_was_stopped_when_another_failed) {
  RankGroup group(
      members(
          {"echo $$ > $DIR/pid; kill -STOP $$",
           "until grep -q State:.T /proc/$(cat $DIR/pid)/status; do sleep 0.01; done 2> /dev/null; exit 3",
           "sleep 1000"}),
      {});
  ASSERT_TRUE(finish(group));
  EXPECT_EQ(group.failure()->rank, 1);
  EXPECT_EQ(group.stopped(), std::vector<Rank>{0});
}

TEST_F(RankGroupTest, lets_ranks_end_in_their_own_way_when_asked) {
  const auto out = open("out");
  RankGroup group(
      members({"trap 'echo saved; exit 0' TERM; echo x > $DIR/ready; while :; do sleep 0.01; done"}),
      {.out = out.get()});
  while (!std::filesystem::exists(directory_.path() / "ready")) group.wait(Deadline::after(0.001));
  group.end();
  ASSERT_TRUE(finish(group));
  EXPECT_FALSE(group.failure());
  EXPECT_EQ(content("out"), "[0] saved\n");
}

// One child stays in the rank's process group, one leaves for a session of its own, one is the child of a
// child.
TEST_F(RankGroupTest, leaves_no_process_behind_however_far_it_went) {
  RankGroup group(
      members({"sleep 1000 & echo $! > $DIR/near;"
               "setsid sh -c 'echo $$ > $DIR/far; sh -c \"echo \\$\\$ > $DIR/farther; sleep 1000\"; :' &"
               "while ! [ -s $DIR/farther ]; do sleep 0.01; done"}),
      {});
  ASSERT_TRUE(finish(group));
  EXPECT_FALSE(group.failure());
  for (const char* name : {"near", "far", "farther"})
    EXPECT_TRUE(has_ended(std::stoi(content(name)))) << name;
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
  EXPECT_EQ(errno, ECHILD);
}

TEST_F(RankGroupTest, takes_everything_with_it_when_it_goes) {
  pid_t child = 0;
  {
    RankGroup group(members({"setsid sleep 1000 & echo $! > $DIR/pid; wait"}), {});
    while (!std::filesystem::exists(directory_.path() / "pid") || content("pid").empty())
      group.wait(Deadline::after(0.001));
    child = std::stoi(content("pid"));
  }
  EXPECT_TRUE(has_ended(child));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(RankGroupTest, starts_all_or_none) {
  auto some = members({"sleep 1000", "true"});
  some[1].command = {"./no-such-program"};
  EXPECT_THAT([&] { RankGroup group(some, {}); },
              ThrowsMessage<ConfigError>(
                  testing::AllOf(HasSubstr("'./no-such-program'"), HasSubstr("No such file"))));
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

TEST_F(RankGroupTest, says_where_it_cannot_write) {
  const GroupOptions options{.output = GroupOptions::Output::files, .log_dir = "/proc/nowhere"};
  EXPECT_THAT([&] { RankGroup group(members({"true"}), options); },
              ThrowsMessage<ConfigError>(HasSubstr("can't make the folder /proc/nowhere: ")));
}

TEST_F(RankGroupTest, does_not_wait_for_a_pipe_that_nobody_reads) {
  const auto folder = directory_.path() / "pipes";
  std::filesystem::create_directory(folder);
  ASSERT_EQ(::mkfifo((folder / "rank-0.log").c_str(), 0600), 0);
  const GroupOptions options{.output = GroupOptions::Output::files, .log_dir = folder};
  EXPECT_THROW(RankGroup(members({"true"}), options), ConfigError);
}

// The pipe takes a part of it, and nobody the rest.
TEST_F(RankGroupTest, does_not_wait_for_a_stuck_reader_once_it_is_told_to_end) {
  for (const bool at_once : {true, false}) {
    int ends[2];
    ASSERT_EQ(::pipe2(ends, O_CLOEXEC), 0);
    const Fd stuck(ends[0]), out(ends[1]);
    RankGroup group(members({"head -c 300000 /dev/zero | tr '\\0' x"}),
                    {.out = out.get(), .interrupt_grace = 0.1});
    const auto deadline = Deadline::after(60);
    while (!group.running().empty() && !deadline.passed()) group.wait(Deadline::after(0.01));
    EXPECT_FALSE(group.wait(Deadline::after(0.01))) << "it has time";
    if (at_once)
      group.kill();
    else
      group.interrupt(SIGTERM);
    EXPECT_TRUE(finish(group));
    EXPECT_FALSE(group.all_written());
  }
}

TEST_F(RankGroupTest, returns_early_when_woken) {
  const Fd wake(::eventfd(1, EFD_CLOEXEC));
  RankGroup group(members({"sleep 1000"}), {});
  EXPECT_FALSE(group.wait(Deadline::after(3600), wake.get()));
}

TEST_F(RankGroupTest, gives_programs_an_empty_input_and_only_the_environment_it_was_told) {
  const auto out = open("out");
  std::vector<Member> one = {{0, {"/usr/bin/env"}, {{"A", "1"}}}};
  one.push_back({1, {"cat"}, {}});
  RankGroup group(one, {.out = out.get()});
  ASSERT_TRUE(finish(group));
  EXPECT_THAT(content("out"), testing::MatchesRegex("\\[0\\] A=1\n\\[0\\] GRADWIRE_JOB=[0-9a-f]+\n"));
}

TEST_F(RankGroupTest, leaves_nothing_behind_a_hundred_times) {
  const auto descriptors = [] {
    return std::distance(std::filesystem::directory_iterator("/proc/self/fd"), {});
  };
  const auto before = descriptors();
  for (int i = 0; i < 100; ++i) {
    RankGroup group(members({"exit 1", "sleep 1000"}), {});
    ASSERT_TRUE(finish(group));
  }
  EXPECT_EQ(descriptors(), before);
  EXPECT_EQ(::waitpid(-1, nullptr, WNOHANG), -1) << "a child is left";
}

}  // namespace
}  // namespace gradwire
