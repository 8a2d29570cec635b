// `gradwire run` as a user runs it: the program itself, started, listened to and signalled from outside.
#include <fmt/ranges.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <csignal>

#include "base/error.h"
#include "base/files.h"
#include "net/address/socket.h"
#include "support/session.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

const std::string kGradwire = GRADWIRE_PROGRAM, kRank = GRADWIRE_TEST_RANK;

Session gradwire_run(std::vector<std::string> arguments, const Environment& environment = {}) {
  arguments.insert(arguments.begin(), {kGradwire, "run"});
  return Session(std::move(arguments), environment);
}

std::uint16_t free_port() { return local_address(listen_at(SocketAddress::loopback()).get()).port(); }

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
  EXPECT_THAT(run.text(), AllOf(HasSubstr("was killed by SIGINT"), Not(HasSubstr("restart"))));
}

TEST(RunVerb, kills_deaf_ranks_at_the_second_signal) {
  auto run = gradwire_run({"-n", "1", "--grace", "1000", "--", "sh", "-c",
                           "trap '' INT; echo ready; while :; do sleep 0.01; done"});
  run.expect("ready");
  run.signal(SIGINT);
  run.expect("once more kills them");
  // Two that come at once count as one, so there may be need of a third.
  while (!run.says_more_within(0.1)) run.signal(SIGINT);
  EXPECT_EQ(run.finish(), 128 + SIGKILL);
}

TEST(RunVerb, ranks_do_not_outlive_a_launcher_that_is_killed) {
  auto run = gradwire_run({"-n", "2", "--", "sh", "-c", "echo ready $RANK; exec sleep 1000"});
  run.expect("ready 0");
  run.expect("ready 1");
  run.signal(SIGKILL);
  EXPECT_EQ(run.finish(), 128 + SIGKILL) << "the pipe closes when the last of them is gone";
}

TEST(RunVerb, brings_ranks_of_several_nodes_together) {
  const auto master = fmt::format("127.0.0.1:{}", free_port());
  const Environment secret = {{"GRADWIRE_SECRET", "0123456789abcdef"}};
  const auto node = [&](const char* number, const char* ranks) {
    return gradwire_run(
        {"-n", ranks, "--nnodes", "2", "--node-rank", number, "--master", master, "--", kRank}, secret);
  };
  auto second = node("1", "1"), first = node("0", "2");
  EXPECT_EQ(first.finish(), 0) << first.text();
  EXPECT_EQ(second.finish(), 0) << second.text();
  EXPECT_THAT(first.text(), HasSubstr("[1] met 1 of 3, locally 1 of 2"));
  EXPECT_THAT(second.text(), HasSubstr("[2] met 2 of 3, locally 0 of 1"));
}

TEST(RunVerb, a_failure_on_one_node_ends_and_restarts_all) {
  const auto master = fmt::format("127.0.0.1:{}", free_port());
  const Environment secret = {{"GRADWIRE_SECRET", "0123456789abcdef"}};
  const auto node = [&](const char* number, const char* line) {
    return gradwire_run({"--nnodes", "2", "--node-rank", number, "--master", master, "--max-restarts", "1",
                         "--", "sh", "-c", line},
                        secret);
  };
  auto first = node("0", "sleep 1000"), second = node("1", "exit 9");
  EXPECT_EQ(first.finish(), 9);
  EXPECT_EQ(second.finish(), 9);
  for (const auto* session : {&first, &second})
    EXPECT_THAT(session->text(), AllOf(HasSubstr("rank 1 exited with code 9"), HasSubstr("restart 1 of 1")));
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

TEST(RunVerb, help_has_an_example) {
  auto run = gradwire_run({"--help"});
  EXPECT_EQ(run.finish(), 0);
  EXPECT_THAT(run.text(), HasSubstr("gradwire run -n 2 -- ./train"));
}

}  // namespace
}  // namespace gradwire
