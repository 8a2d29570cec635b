#include "launch/launcher.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/cpu.h"
#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "launch/signal_watch.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

Seating third_of_four() {
  Seating seating;
  seating.attempt = 2;
  seating.first_rank = 2;
  seating.group_rank = 1;
  seating.local_size = 2;
  seating.size = 4;
  seating.store = "10.0.0.1:4000/2";
  seating.master_host = "10.0.0.1";
  seating.master_port = 4001;
  return seating;
}

TEST(RankEnvironment, tells_a_rank_all_it_must_know) {
  LaunchOptions options;
  options.node = 1;
  options.secret = "secret";
  options.interface = "eth0";
  options.timeout = 30;
  options.environment = {{"HOME", "/home/me"}, {"RANK", "77"}, {"TORCHELASTIC_USE_AGENT_STORE", "True"}};
  const auto share = std::to_string(std::max(1, usable_cores() / 2));
  const Environment expected = {{"HOME", "/home/me"},
                                {"RANK", "3"},
                                {"WORLD_SIZE", "4"},
                                {"LOCAL_RANK", "1"},
                                {"LOCAL_WORLD_SIZE", "2"},
                                {"GROUP_RANK", "1"},
                                {"MASTER_ADDR", "10.0.0.1"},
                                {"MASTER_PORT", "4001"},
                                {"GRADWIRE_STORE", "10.0.0.1:4000/2"},
                                {"GRADWIRE_SECRET", "secret"},
                                {"GRADWIRE_TIMEOUT", "30"},
                                {"GRADWIRE_RESTART", "2"},
                                {"GRADWIRE_INTERFACE", "eth0"},
                                {"OMP_NUM_THREADS", share},
                                {"OPENBLAS_NUM_THREADS", share}};
  EXPECT_EQ(rank_environment(options, third_of_four(), 1), expected);
}

TEST(RankEnvironment, leaves_the_threads_the_user_chose) {
  LaunchOptions options;
  options.environment = {{"OMP_NUM_THREADS", "7"}};
  EXPECT_EQ(rank_environment(options, third_of_four(), 0).at("OMP_NUM_THREADS"), "7");
}

TEST(RankEnvironment, is_understood_by_a_rank) {
  LaunchOptions options;
  options.secret = "secret";
  const auto placement = read_placement(rank_environment(options, third_of_four(), 1));
  EXPECT_EQ(placement.rank, 3);
  EXPECT_EQ(placement.size, 4);
  EXPECT_EQ(placement.local_rank, 1);
  EXPECT_EQ(placement.space, "2");
  EXPECT_TRUE(placement.hosted);
}

LaunchOptions shell(const std::string& line, int ranks) {
  LaunchOptions options;
  options.command = {"sh", "-c", line};
  options.ranks = ranks;
  return options;
}

TEST(Launch, returns_what_the_first_failing_rank_returned) {
  EXPECT_EQ(launch(shell("true", 3)), 0);
  EXPECT_EQ(launch(shell("[ $RANK = 1 ] && exit 7; sleep 1000", 3)), 7);
  EXPECT_EQ(launch(shell("[ $RANK = 0 ] && kill -ABRT $$; sleep 1000", 2)), 128 + SIGABRT);
}

TEST(Launch, starts_again_as_often_as_allowed) {
  const TempDir directory;
  auto options = shell("echo $GRADWIRE_RESTART >> $FILE; [ $GRADWIRE_RESTART -ge 2 ]", 1);
  options.environment["FILE"] = (directory.path() / "file").string();
  options.max_restarts = 1;
  EXPECT_EQ(launch(options), 1);
  options.max_restarts = 5;
  EXPECT_EQ(launch(options), 0);
  EXPECT_EQ(read_file(directory.path() / "file"), "0\n1\n0\n1\n2\n");
}

TEST(SignalWatch, turns_signals_into_something_to_ask_for) {
  SignalWatch watch({SIGUSR1, SIGUSR2});
  EXPECT_FALSE(watch.next());
  ::raise(SIGUSR2);
  EXPECT_EQ(watch.next(), SIGUSR2);
  EXPECT_FALSE(watch.next());
}

TEST(SignalWatch, leaves_ignored_signals_ignored) {
  const auto before = ::signal(SIGHUP, SIG_IGN);
  SignalWatch watch({SIGHUP});
  ::raise(SIGHUP);
  EXPECT_FALSE(watch.next());
  ::signal(SIGHUP, before);
}

}  // namespace
}  // namespace gradwire
