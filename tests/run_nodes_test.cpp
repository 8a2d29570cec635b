// `gradwire run` with a launcher on each of several nodes, all of them on this host: they find each other, share a job's
// failures and signals, and refuse who does not belong.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include <fcntl.h>
#include <sys/stat.h>

#include <csignal>
#include <optional>
#include <thread>

#include "base/files.h"
#include "net/address/socket.h"
#include "net/store/tcp.h"
#include "run_session.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

// What the launchers of one job have in common.
class Job {
 public:
  explicit Job(Environment variables = {}) : variables_(std::move(variables)) {
    variables_["GRADWIRE_SECRET"] = "0123456789abcdef";
  }

  Session launch(std::vector<std::string> arguments) const {
    arguments.insert(arguments.begin(), {"--master", fmt::format("127.0.0.1:{}", port_)});
    return gradwire_run(std::move(arguments), variables_);
  }
  // What the launchers write for each other.
  TcpStore store() const {
    return TcpStore({{"127.0.0.1", port_}, variables_.at("GRADWIRE_SECRET"), {-1, "launchers"}},
                    Deadline::after(60));
  }

 private:
  static std::uint16_t free_port() {
    return local_address(listen_at(SocketAddress::loopback()).get()).port();
  }

  std::uint16_t port_ = free_port();
  Environment variables_;
};

class Stray : public testing::TestWithParam<std::pair<std::vector<std::string>, std::string>> {};

// A launcher that knows the secret and does not belong.
TEST_P(Stray, launchers_are_refused_and_change_nothing) {
  const auto& [flags, words] = GetParam();
  const TempDir directory;
  const auto fifo = directory.path() / "fifo";
  ASSERT_EQ(::mkfifo(fifo.c_str(), 0600), 0);
  const Job job({{"FIFO", fifo.string()}});
  const auto launch = [&](std::vector<std::string> arguments) {
    arguments.insert(arguments.begin(), {"-n", "1", "--timeout", "60"});
    arguments.insert(arguments.end(), {"--", "sh", "-c", "echo ready; read line < $FIFO"});
    return job.launch(std::move(arguments));
  };
  const bool two = words.find("already") != std::string::npos;
  std::vector<std::string> whole =
      two ? std::vector<std::string>{"--nnodes", "2"} : std::vector<std::string>{};
  auto first = launch(whole);
  std::optional<Session> second;
  if (two) second.emplace(launch(flags));
  first.expect("ready");
  if (two) second->expect("ready");
  auto stray = launch(flags);
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
    RunNodes, Stray,
    testing::Values(std::pair(std::vector<std::string>{"--nnodes", "2", "--node-rank", "1"},
                              std::string("is of 1 node, but this launcher was told of 2")),
                    std::pair(std::vector<std::string>{"--nnodes", "2", "--node-rank", "1"},
                              std::string("has a launcher already"))));

TEST(RunNodes, gives_up_on_a_launcher_that_is_stopped) {
  const Job job;
  const auto node = [&](const char* number) {
    return job.launch({"-n", "1", "--nnodes", "2", "--node-rank", number, "--timeout", "2", "--", "sh", "-c",
                       "echo ready; [ $RANK = 0 ] || exec sleep 1000"});
  };
  auto first = node("0"), second = node("1");
  first.expect("ready");
  second.expect("ready");
  second.signal(SIGSTOP);
  EXPECT_EQ(first.finish(), 1) << first.text();
  EXPECT_THAT(first.text(), HasSubstr("the launcher of node 1 has been silent for 2 s"));
}

// Node 1's rank stays when its work is done, so that node 0 has to wait for it.
TEST(RunNodes, a_signal_when_all_work_is_done_makes_no_failure_of_it) {
  const TempDir directory;
  const auto go = directory.path() / "go";
  const Job job({{"GO", go.string()}});
  const auto node = [&](const char* number) {
    return job.launch({"--nnodes", "2", "--node-rank", number, "--", "sh", "-c",
                       "\"$0\" meet; echo left; [ $RANK = 0 ] || until [ -e $GO ]; do sleep 0.01; done",
                       kRank});
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

TEST(RunNodes, goes_on_without_a_node_that_is_told_to_leave_and_takes_it_back) {
  const TempDir directory;
  const auto go = directory.path() / "go";
  const Job job({{"GO", go.string()}});
  const auto node = [&](const char* number) {
    return job.launch(
        {"--nnodes", "1:2", "--node-rank", number, "--max-restarts", "2", "--", "sh", "-c",
         "echo $GRADWIRE_RESTART of $WORLD_SIZE; case $GRADWIRE_RESTART in 0) exec sleep 1000;; "
         "1) until [ -e $GO ]; do sleep 0.01; done; exit 1;; esac"});
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

// Node 0 is stopped for longer than the timeout, which looks like a cut link from node 1.
TEST(RunNodes, a_node_that_waits_for_its_first_seat_outlasts_a_cut_link) {
  const TempDir directory;
  const auto go = directory.path() / "go";
  const Job job({{"GO", go.string()}});
  const auto node = [&](const char* number) {
    return job.launch({"--nnodes", "1:2", "--node-rank", number, "--max-restarts", "1", "--timeout", "3",
                       "--", "sh", "-c",
                       "echo $GRADWIRE_RESTART of $WORLD_SIZE; [ $GRADWIRE_RESTART = 1 ] && exit; "
                       "until [ -e $GO ]; do sleep 0.01; done; exit 1"});
  };
  auto first = node("0");
  first.expect("0 of 1");
  auto second = node("1");
  auto store = job.store();
  store.get("alive/1", Deadline::after(60));
  first.signal(SIGSTOP);
  second.expect("to take part again");
  first.signal(SIGCONT);
  const auto deadline = Deadline::after(60);
  while (!store.find("ready/1").ends_with(".2") && !deadline.passed()) std::this_thread::yield();
  write_file(go, "");
  EXPECT_EQ(first.finish(), 0) << first.text();
  EXPECT_EQ(second.finish(), 0) << second.text();
  EXPECT_THAT(second.text(), HasSubstr("1 of 2"));
}

TEST(RunNodes, brings_ranks_of_several_nodes_together) {
  const Job job;
  const auto node = [&](const char* number, const char* ranks) {
    return job.launch({"-n", ranks, "--nnodes", "2", "--node-rank", number, "--", kRank});
  };
  auto second = node("1", "1"), first = node("0", "2");
  EXPECT_EQ(first.finish(), 0) << first.text();
  EXPECT_EQ(second.finish(), 0) << second.text();
  EXPECT_THAT(first.text(), HasSubstr("[1] met 1 of 3, locally 1 of 2"));
  EXPECT_THAT(second.text(), HasSubstr("[2] met 2 of 3, locally 0 of 1"));
}

TEST(RunNodes, a_failure_on_one_node_ends_and_restarts_all) {
  const Job job;
  const auto node = [&](const char* number, const char* line) {
    return job.launch(
        {"--nnodes", "2", "--node-rank", number, "--max-restarts", "1", "--", "sh", "-c", line});
  };
  auto first = node("0", "sleep 1000"), second = node("1", "exit 9");
  EXPECT_EQ(first.finish(), 9);
  EXPECT_EQ(second.finish(), 9);
  for (const auto* session : {&first, &second})
    EXPECT_THAT(session->text(), AllOf(HasSubstr("rank 1 exited with code 9"), HasSubstr("restart 1 of 1")));
}

TEST(RunNodes, hears_signals_while_the_node_of_the_store_is_stopped) {
  const Job job;
  const auto node = [&](const char* number) {
    return job.launch({"--nnodes", "2", "--node-rank", number, "--timeout", "1000", "--grace", "1000", "--",
                       "sh", "-c", "echo ready; exec sleep 1000"});
  };
  auto first = node("0"), second = node("1");
  first.expect("ready");
  second.expect("ready");
  first.signal(SIGSTOP);
  second.signal(SIGTERM);
  second.expect("once more kills them");
  while (!second.says_more_within(0.3)) second.signal(SIGTERM);
  EXPECT_EQ(second.finish(), 128 + SIGTERM) << second.text();
}

}  // namespace
}  // namespace gradwire
