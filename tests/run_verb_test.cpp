// `gradwire run` as a user runs it: the program itself, started, listened to and signalled from outside.
#include <fmt/ranges.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <optional>

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

TEST(RunVerb, names_a_rank_that_dies_before_it_has_joined_to_who_waits_for_it) {
  auto run = gradwire_run({"-n", "3", "--", "sh", "-c",
                           "trap '' TERM; [ $RANK != 1 ] || kill -KILL $$; exec \"$0\" meet", kRank});
  EXPECT_EQ(run.finish(), 128 + SIGKILL) << run.text();
  EXPECT_THAT(run.text(), HasSubstr("] rank 1 is lost: it was killed by SIGKILL"));
}

TEST(RunVerb, names_a_rank_that_is_stopped_at_the_end) {
  auto run = gradwire_run({"-n", "2", "--timeout", "1", "--", kRank, "stop-late", "1"});
  EXPECT_EQ(run.finish(), 1) << run.text();
  EXPECT_THAT(run.text(), HasSubstr("rank 0 has ended its work and waited 1 s for rank 1 to end its own"));
}

class Stray : public testing::TestWithParam<std::pair<std::vector<std::string>, std::string>> {};

// A launcher that knows the secret and does not belong.
TEST_P(Stray, launchers_are_refused_and_change_nothing) {
  const auto& [flags, words] = GetParam();
  const auto master = fmt::format("127.0.0.1:{}", free_port());
  const Environment secret = {{"GRADWIRE_SECRET", "0123456789abcdef"}};
  const auto launch = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"-n", "1", "--master", master, "--timeout", "60"});
    arguments.insert(arguments.end(), {"--", "sh", "-c", "echo ready; read line < $FIFO"});
    return arguments;
  };
  const TempDir directory;
  const auto fifo = directory.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  Environment environment = secret;
  environment["FIFO"] = fifo.string();
  const bool two = words.find("already") != std::string::npos;
  std::vector<std::string> whole =
      two ? std::vector<std::string>{"--nnodes", "2"} : std::vector<std::string>{};
  auto first = gradwire_run(launch(whole), environment);
  std::optional<Session> second;
  if (two) second.emplace(gradwire_run(launch(flags), environment));
  first.expect("ready");
  if (two) second->expect("ready");
  auto stray = gradwire_run(launch(flags), environment);
  EXPECT_EQ(stray.finish(), 2) << stray.text();
  EXPECT_THAT(stray.text(), HasSubstr(words));
  const Fd door(::open(fifo.c_str(), O_RDWR));
  ASSERT_EQ(::write(door.get(), "go\ngo\n", 6), 6);
  EXPECT_EQ(first.finish(), 0) << first.text();
  if (two) {
    EXPECT_EQ(second->finish(), 0) << second->text();
  }
}

INSTANTIATE_TEST_SUITE_P(
    RunVerb, Stray,
    testing::Values(std::pair(std::vector<std::string>{"--nnodes", "2", "--node-rank", "1"},
                              std::string("is of 1 node, but this launcher was told of 2")),
                    std::pair(std::vector<std::string>{"--nnodes", "2", "--node-rank", "1"},
                              std::string("has a launcher already"))));

TEST(RunVerb, gives_up_on_a_launcher_that_is_stopped) {
  const auto master = fmt::format("127.0.0.1:{}", free_port());
  const Environment secret = {{"GRADWIRE_SECRET", "0123456789abcdef"}};
  const auto node = [&](const char* number) {
    return gradwire_run({"-n", "1", "--nnodes", "2", "--node-rank", number, "--master", master, "--timeout",
                         "2", "--", "sh", "-c", "echo ready; [ $RANK = 0 ] || exec sleep 1000"},
                        secret);
  };
  auto first = node("0"), second = node("1");
  first.expect("ready");
  second.expect("ready");
  second.signal(SIGSTOP);
  EXPECT_EQ(first.finish(), 1) << first.text();
  EXPECT_THAT(first.text(), HasSubstr("the launcher of node 1 has been silent for 2 s"));
}

// Node 1's rank stays when its work is done, so that node 0 has to wait for it.
TEST(RunVerb, a_signal_when_all_work_is_done_makes_no_failure_of_it) {
  const TempDir directory;
  const auto go = directory.path() / "go";
  const auto master = fmt::format("127.0.0.1:{}", free_port());
  const Environment variables = {{"GRADWIRE_SECRET", "0123456789abcdef"}, {"GO", go.string()}};
  const auto node = [&](const char* number) {
    return gradwire_run(
        {"--nnodes", "2", "--node-rank", number, "--master", master, "--", "sh", "-c",
         "\"$0\" meet; echo left; [ $RANK = 0 ] || until [ -e $GO ]; do sleep 0.01; done", kRank},
        variables);
  };
  auto first = node("0"), second = node("1");
  first.expect("left");
  second.expect("left");
  first.signal(SIGTERM);
  first.expect("SIGTERM");
  write_file(go, "");
  EXPECT_EQ(first.finish(), 0) << first.text();
  EXPECT_EQ(second.finish(), 0) << second.text();
}

TEST(RunVerb, goes_on_without_a_node_that_is_told_to_leave_and_takes_it_back) {
  const TempDir directory;
  const auto go = directory.path() / "go";
  const auto master = fmt::format("127.0.0.1:{}", free_port());
  const Environment variables = {{"GRADWIRE_SECRET", "0123456789abcdef"}, {"GO", go.string()}};
  const auto node = [&](const char* number) {
    return gradwire_run(
        {"--nnodes", "1:2", "--node-rank", number, "--master", master, "--max-restarts", "2", "--", "sh",
         "-c",
         "echo $GRADWIRE_RESTART of $WORLD_SIZE; case $GRADWIRE_RESTART in 0) exec sleep 1000;; "
         "1) until [ -e $GO ]; do sleep 0.01; done; exit 1;; esac"},
        variables);
  };
  auto first = node("0"), second = node("1");
  first.expect("0 of 2");
  second.expect("0 of 2");
  second.signal(SIGTERM);
  EXPECT_EQ(second.finish(), 128 + SIGTERM) << second.text();
  first.expect("1 of 1");
  EXPECT_THAT(first.text(), HasSubstr("node 1 leaves: SIGTERM"));
  auto again = node("1");
  write_file(go, "");
  EXPECT_EQ(first.finish(), 0) << first.text();
  EXPECT_EQ(again.finish(), 0) << again.text();
  EXPECT_THAT(again.text(), HasSubstr("2 of 2"));
}

TEST(RunVerb, says_which_rank_was_stopped) {
  auto run = gradwire_run({"-n", "3", "--timeout", "1", "--", kRank, "stop-late", "1"});
  EXPECT_EQ(run.finish(), 1);
  EXPECT_THAT(run.text(), HasSubstr("gradwire run: rank 1 was stopped when the job was ended\n"));
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
