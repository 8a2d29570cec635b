#include "net/backoff.h"

#include <gtest/gtest.h>

#include <atomic>
#include <stdexcept>
#include <thread>

namespace gradwire {
namespace {

TEST(Backoff, asks_once_when_the_condition_already_holds) {
  int asked = 0, checked = 0;
  Backoff(1).wait([&] { return ++asked > 0; }, [&] { ++checked; });
  EXPECT_EQ(asked, 1);
  EXPECT_EQ(checked, 0);
}

TEST(Backoff, spins_only_while_every_rank_has_a_core) {
  EXPECT_TRUE(Backoff(2, 2).spins());
  EXPECT_FALSE(Backoff(3, 2).spins());
}

TEST(Backoff, sees_what_another_thread_writes) {
  for (const int ranks : {1, 1000}) {
    std::atomic<bool> there = false;
    std::jthread writer([&] { there = true; });
    Backoff(ranks).wait([&] { return there.load(); }, [] {});
    EXPECT_TRUE(there);
  }
}

TEST(Backoff, gives_up_through_its_check_while_spinning_yielding_and_napping) {
  for (const int ranks : {1, 1000}) {
    int checks = 0;
    const auto check = [&] {
      if (++checks == 20) throw std::runtime_error("enough");
    };
    EXPECT_THROW(Backoff(ranks).wait([] { return false; }, check), std::runtime_error);
  }
}

}  // namespace
}  // namespace gradwire
