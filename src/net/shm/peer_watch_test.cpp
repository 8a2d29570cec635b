#include "net/shm/peer_watch.h"

#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>

#include "base/error.h"

namespace gradwire {
namespace {

pid_t start_sleeper() {
  const pid_t child = fork();
  if (child == 0) {
    alarm(60);
    while (true) pause();
  }
  return child;
}

void kill_without_reaping(pid_t child) {
  kill(child, SIGKILL);
  siginfo_t info{};
  ASSERT_EQ(waitid(P_PID, static_cast<id_t>(child), &info, WEXITED | WNOWAIT), 0);
}

TEST(PeerWatch, finds_nobody_while_all_live) {
  const pid_t child = start_sleeper();
  PeerWatch watch(std::array<pid_t, 3>{getpid(), child, 0});
  EXPECT_FALSE(watch.find_dead());
  kill_without_reaping(child);
  waitpid(child, nullptr, 0);
}

TEST(PeerWatch, names_the_rank_whose_process_was_killed_even_before_its_parent_knows) {
  const pid_t child = start_sleeper();
  PeerWatch watch(std::array<pid_t, 3>{getpid(), 0, child});
  kill_without_reaping(child);
  EXPECT_EQ(watch.find_dead(), 2);
  waitpid(child, nullptr, 0);
  EXPECT_EQ(watch.find_dead(), 2);
}

TEST(PeerWatch, forgets_a_rank_that_may_end) {
  const pid_t child = start_sleeper();
  PeerWatch watch(std::array<pid_t, 2>{getpid(), child});
  watch.forget(1);
  kill_without_reaping(child);
  EXPECT_FALSE(watch.find_dead());
  waitpid(child, nullptr, 0);
}

TEST(PeerWatch, refuses_a_process_that_is_gone) {
  const pid_t child = start_sleeper();
  kill(child, SIGKILL);
  waitpid(child, nullptr, 0);
  EXPECT_THROW(PeerWatch(std::array<pid_t, 2>{getpid(), child}), PeerLost);
}

TEST(PeerWatch, watches_nobody_by_default) { EXPECT_FALSE(PeerWatch().find_dead()); }

}  // namespace
}  // namespace gradwire
