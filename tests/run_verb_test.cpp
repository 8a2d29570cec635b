// `gradwire run` as a user runs it: the program itself, started, listened to and signalled from outside.
#include <fmt/ranges.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <poll.h>
#include <sys/stat.h>

#include <csignal>

#include "base/error.h"
#include "base/files.h"
#include "net/address/socket.h"
#include "run_session.h"
#include "support/has_ended.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TEST(RunVerb, brings_ranks_together) {
  auto run = gradwire_run({"-n", "3", "--", kRank, "meet"});
  EXPECT_EQ(run.finish(), 0) << run.text();
  EXPECT_THAT(run.text(), AllOf(HasSubstr("[0] met 0 of 3, locally 0 of 3, listens on loopback\n"),
                                HasSubstr("[2] met 2 of 3, locally 2 of 3, listens on loopback\n")));
}

TEST(RunVerb, says_which_rank_was_killed_and_the_others_learn_it) {
  auto run = gradwire_run({"-n", "3", "--", kRank, "die", "1"});
  EXPECT_EQ(run.finish(), 128 + SIGKILL);
  EXPECT_THAT(run.text(), HasSubstr("gradwire run: rank 1 was killed by SIGKILL\n"));
}

TEST(RunVerb, hands_the_programs_arguments_on_untouched) {
  auto run = gradwire_run({"-n", "1", "--", "printf", "<%s>", "-n", "5", "--help", "a b", "--", ""});
  EXPECT_EQ(run.finish(), 0);
  EXPECT_EQ(run.text(), "[0] <-n><5><--help><a b><--><>\n");
}

TEST(RunVerb, files_the_output_and_says_where) {
  const TempDir directory;
  auto run = gradwire_run({"-n", "2", "--log-dir", directory.path().string(), "--", "sh", "-c",
                           "echo here is $RANK; [ $RANK = 0 ] || exit 4; sleep 1000"});
  EXPECT_EQ(run.finish(), 4);
  EXPECT_EQ(run.text(),
            fmt::format("gradwire run: rank 1 exited with code 4; its output is in {}/rank-1.log\n",
                        directory.path().string()));
  EXPECT_EQ(read_file(directory.path() / "rank-1.log"), "here is 1\n");
}

TEST(RunVerb, starts_again_after_a_failure) {
  auto run = gradwire_run({"-n", "2", "--max-restarts", "1", "--", "sh", "-c",
                           "[ $GRADWIRE_RESTART = 1 ] && exec \"$0\" meet; exit 3", kRank});
  EXPECT_EQ(run.finish(), 0) << run.text();
  EXPECT_THAT(run.text(), AllOf(HasSubstr("exited with code 3"), HasSubstr("restart 1 of 1"),
                                HasSubstr("[1] met 1 of 2")));
}

constexpr const char* kTrap =
    "trap 'echo got it; exit 0' INT TERM HUP USR1; echo ready $RANK; while :; do sleep 0.01; done";

class Forwarded : public testing::TestWithParam<int> {};

TEST_P(Forwarded, signals_reach_every_rank) {
  auto run = gradwire_run({"-n", "2", "--", "sh", "-c", kTrap});
  run.expect("ready 0");
  run.expect("ready 1");
  run.signal(GetParam());
  EXPECT_EQ(run.finish(), 0) << run.text();
  EXPECT_THAT(run.text(), AllOf(HasSubstr("[0] got it\n"), HasSubstr("[1] got it\n")));
}

INSTANTIATE_TEST_SUITE_P(RunVerb, Forwarded, testing::Values(SIGINT, SIGTERM, SIGHUP, SIGUSR1));

TEST(RunVerb, returns_130_when_an_interrupt_ends_the_ranks) {
  auto run =
      gradwire_run({"-n", "2", "--max-restarts", "5", "--", "sh", "-c", "echo ready $RANK; exec sleep 1000"});
  run.expect("ready 0");
  run.expect("ready 1");
  run.signal(SIGINT);
  EXPECT_EQ(run.finish(), 128 + SIGINT);
  EXPECT_THAT(run.text(), AllOf(HasSubstr("ended as asked, by SIGINT"), HasSubstr("was killed by SIGINT"),
                                Not(HasSubstr("restart"))));
}

TEST(RunVerb, kills_deaf_ranks_at_the_second_signal) {
  auto run = gradwire_run({"-n", "1", "--grace", "1000", "--", "sh", "-c",
                           "trap '' INT; echo ready; while :; do sleep 0.01; done"});
  run.expect("ready");
  run.signal(SIGINT);
  run.expect("once more kills them");
  // Two that come at once count as one, so there may be need of a third.
  while (!run.says_more_within(0.1)) run.signal(SIGINT);
  EXPECT_EQ(run.finish(), 128 + SIGINT);
}

TEST(RunVerb, kills_deaf_ranks_when_the_grace_is_over) {
  auto run = gradwire_run({"-n", "1", "--grace", "0.2", "--", "sh", "-c",
                           "trap '' TERM; echo ready; while :; do sleep 0.01; done"});
  run.expect("ready");
  run.signal(SIGTERM);
  EXPECT_EQ(run.finish(), 128 + SIGTERM);
}

TEST(RunVerb, ends_also_ranks_that_are_stopped) {
  auto run = gradwire_run({"-n", "2", "--", "sh", "-c", "echo ready $RANK; kill -STOP $$; sleep 1000"});
  run.expect("ready 0");
  run.expect("ready 1");
  run.signal(SIGTERM);
  EXPECT_EQ(run.finish(), 128 + SIGTERM);
}

TEST(RunVerb, does_not_wait_for_a_rank_that_is_stopped_after_its_work) {
  auto run = gradwire_run({"-n", "2", "--timeout", "1", "--", kRank, "stop-last", "1"});
  EXPECT_EQ(run.finish(), 0) << run.text();
}

TEST(RunVerb, takes_a_rank_that_is_killed_after_its_work_for_one_that_has_ended_well) {
  auto run = gradwire_run({"-n", "2", "--max-restarts", "1", "--", kRank, "die-late", "1"});
  EXPECT_EQ(run.finish(), 0) << run.text();
  EXPECT_THAT(run.text(), AllOf(HasSubstr("rank 1 was killed by SIGKILL after its work was done"),
                                Not(HasSubstr("restart"))));
}

TEST(RunVerb, names_a_rank_that_is_stopped_at_the_end) {
  auto run = gradwire_run({"-n", "2", "--timeout", "1", "--", kRank, "stop-late", "1"});
  EXPECT_EQ(run.finish(), 1) << run.text();
  EXPECT_THAT(run.text(), HasSubstr("rank 0 has ended its work and waited 1 s for rank 1 to end its own"));
}

TEST(RunVerb, says_which_rank_was_stopped) {
  auto run = gradwire_run({"-n", "3", "--timeout", "1", "--", kRank, "stop-late", "1"});
  EXPECT_EQ(run.finish(), 1);
  EXPECT_THAT(run.text(), HasSubstr("gradwire run: rank 1 was stopped when the job was ended\n"));
}

// The numbers that stand behind `word` in the text, one after each.
std::vector<pid_t> numbers_after(const std::string& word, const std::string& text) {
  std::vector<pid_t> numbers;
  for (auto at = text.find(word); at != std::string::npos; at = text.find(word, at + 1))
    numbers.push_back(std::stoi(text.substr(at + word.size())));
  return numbers;
}

// It dies when the others no longer end at a word of the launcher's, so that they can say what they learn.
TEST(RunVerb, names_a_rank_that_dies_before_it_has_joined_to_who_waits_for_it) {
  auto run = gradwire_run({"-n", "3", "--", "sh", "-c",
                           "trap '' TERM; echo process $RANK $$; [ $RANK != 1 ] || exec sleep 1000; "
                           "exec \"$0\" meet",
                           kRank});
  for (const char* rank : {"process 0 ", "process 1 ", "process 2 "}) run.expect(rank);
  ::kill(numbers_after("process 1 ", run.text()).at(0), SIGKILL);
  EXPECT_EQ(run.finish(), 128 + SIGKILL) << run.text();
  EXPECT_THAT(run.text(), HasSubstr("] rank 1 is lost: it was killed by SIGKILL"));
}

// Each rank has a child in its process group, and one that left for a session of its own.
TEST(RunVerb, nothing_of_a_job_outlives_a_launcher_that_is_killed) {
  auto run = gradwire_run({"-n", "2", "--", "sh", "-c",
                           "sleep 1000 & echo process $!; setsid sleep 1000 & echo process $!; "
                           "echo process $$; echo ready $RANK; wait; true"});
  run.expect("ready 0");
  run.expect("ready 1");
  run.signal(SIGKILL);
  EXPECT_EQ(run.finish(), 128 + SIGKILL);
  const auto processes = numbers_after("process ", run.text());
  EXPECT_EQ(processes.size(), 6U) << run.text();
  for (const pid_t process : processes) EXPECT_TRUE(has_ended(process)) << process;
}

// While the job that it is a part of goes on.
TEST(RunVerb, a_job_within_another_goes_with_its_own_launcher) {
  auto run = gradwire_run({"--", "sh", "-c",
                           "\"$0\" run -- sh -c 'setsid sleep 1000 & echo process $!; echo ready; wait' & "
                           "echo launcher $!; wait; sleep 1000",
                           kGradwire});
  run.expect("ready");
  run.expect("launcher ");
  ::kill(numbers_after("launcher ", run.text()).at(0), SIGKILL);
  EXPECT_TRUE(has_ended(numbers_after("process ", run.text()).at(0)));
}

struct BadUse {
  std::vector<std::string> arguments;
  std::string words;
};

void PrintTo(const BadUse& use, std::ostream* out) {
  *out << fmt::format("{}", fmt::join(use.arguments, " "));
}

class BadUsage : public testing::TestWithParam<BadUse> {};

TEST_P(BadUsage, is_said_in_words_and_by_code_two) {
  auto run = gradwire_run(GetParam().arguments, {{"GRADWIRE_SECRET", ""}});
  EXPECT_EQ(run.finish(), 2);
  EXPECT_THAT(run.text(), HasSubstr(GetParam().words));
}

INSTANTIATE_TEST_SUITE_P(
    RunVerb, BadUsage,
    testing::Values(BadUse{{"-n", "2"}, "program is missing"}, BadUse{{"-n", "0", "true"}, "-n 0"},
                    BadUse{{"-n", "x", "true"}, "--ranks x: write a whole number"},
                    BadUse{{"--", "./nonesuch"}, "'./nonesuch'"},
                    BadUse{{"--interface", "eth77", "true"}, "'eth77'"},
                    BadUse{{"--timeout", "soon", "true"}, "'soon'"},
                    BadUse{{"--max-restarts", "-1", "true"}, "--max-restarts -1"},
                    BadUse{{"--nnodes", "2", "true"}, "--master HOST:PORT"},
                    BadUse{{"--nnodes", "2", "--master", "node1", "true"}, "export GRADWIRE_SECRET="},
                    BadUse{{"--nnodes", "2", "--node-rank", "2", "true"},
                           "--node-rank 2 contradicts --nnodes 2"},
                    BadUse{{"--log-dir", "/proc/nowhere", "true"}, "/proc/nowhere"}));

// `gradwire run` with arguments and redirections of the shell.
Session gradwire_run_in_shell(const std::string& line, const Environment& environment) {
  return Session({"sh", "-c", "exec \"$0\" run " + line, kGradwire}, environment);
}

TEST(RunVerb, starts_again_and_ends_as_it_should_where_it_can_say_nothing) {
  const TempDir directory;
  const auto file = directory.path() / "file";
  auto run = gradwire_run_in_shell(
      "--max-restarts 1 -- sh -c 'echo $GRADWIRE_RESTART >> $FILE; exit 3' 2> /dev/full",
      {{"FILE", file.string()}});
  EXPECT_EQ(run.finish(), 3);
  EXPECT_EQ(read_file(file), "0\n1\n");
}

TEST(RunVerb, passes_signals_on_where_it_can_say_nothing) {
  // The rank itself is silent on stderr: what ranks say and the disk does not take is a failure.
  auto run = gradwire_run_in_shell(fmt::format("-- sh -c \"exec 2> /dev/null; {}\" 2> /dev/full", kTrap), {});
  run.expect("ready");
  run.signal(SIGTERM);
  EXPECT_EQ(run.finish(), 0) << run.text();
  EXPECT_THAT(run.text(), HasSubstr("[0] got it\n"));
}

// The reader is gone when the rank goes on.
TEST(RunVerb, goes_on_when_nobody_reads_any_more) {
  const TempDir directory;
  const auto go = directory.path() / "go", code = directory.path() / "code";
  Session run({"sh", "-c",
               "{ \"$0\" run -- sh -c 'echo one; until [ -e $GO ]; do sleep 0.01; done; echo two; exit 3'; "
               "echo $? > $CODE; } | { head -n 1; exec <&-; touch $GO; }",
               kGradwire},
              {{"GO", go.string()}, {"CODE", code.string()}});
  run.finish();
  EXPECT_EQ(read_file(code), "3\n") << run.text();
}

TEST(RunVerb, ends_also_when_whoever_reads_is_stuck) {
  const TempDir directory;
  const auto fifo = directory.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Fd reader(::open(fifo.c_str(), O_RDWR | O_CLOEXEC));
  auto run = gradwire_run_in_shell("--grace 0.2 -- yes > $FIFO", {{"FIFO", fifo.string()}});
  ASSERT_TRUE(wait_until_ready(reader.get(), POLLIN, Deadline::after(60)));
  run.signal(SIGTERM);
  EXPECT_EQ(run.finish(), 128 + SIGTERM) << run.text();
}

TEST(RunVerb, help_has_an_example) {
  auto run = gradwire_run({"--help"});
  EXPECT_EQ(run.finish(), 0);
  EXPECT_THAT(run.text(), HasSubstr("gradwire run -n 2 -- ./train"));
}

}  // namespace
}  // namespace gradwire
