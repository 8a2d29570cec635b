#include "launch/outcome.h"

#include <gtest/gtest.h>

#include <csignal>

#include "base/error.h"

namespace gradwire {
namespace {

TEST(Outcome, says_what_was_thrown) {
  const auto outcome = run_guarded(3, [] { throw PeerLost(1, "rank 1 is gone"); });
  EXPECT_EQ(describe(outcome), "rank 3 threw PeerLost: rank 1 is gone");
  EXPECT_EQ(outcome.peer, 1);
  EXPECT_EQ(exit_code_of(outcome), 1);
  EXPECT_EQ(run_guarded(0, [] { throw Timeout("t"); }).error, "Timeout");
  EXPECT_EQ(run_guarded(0, [] { throw TransportError("t"); }).error, "TransportError");
  EXPECT_EQ(run_guarded(0, [] { throw std::bad_alloc(); }).error, "std::exception");
  EXPECT_TRUE(run_guarded(0, [] {}).ok());
}

TEST(Outcome, is_read_from_a_wait_status_as_a_shell_reads_it) {
  EXPECT_TRUE(outcome_of_process(0, 0).ok());
  const auto exited = outcome_of_process(1, 7 << 8), killed = outcome_of_process(2, SIGSEGV);
  EXPECT_EQ(describe(exited), "rank 1 exited with code 7");
  EXPECT_EQ(exit_code_of(exited), 7);
  EXPECT_EQ(describe(killed), "rank 2 was killed by SIGSEGV");
  EXPECT_EQ(exit_code_of(killed), 128 + SIGSEGV);
}

TEST(Outcome, survives_the_way_from_process_to_process) {
  Outcome outcome{4, Outcome::Kind::threw, "PeerLost", "rank 2\nis, gone", 2, 0};
  const auto same = decode_outcome(encode(outcome));
  EXPECT_EQ(describe(same), describe(outcome));
  EXPECT_EQ(same.peer, 2);
  outcome.text = std::string(100'000, 'x');
  EXPECT_EQ(encode(outcome).size(), kLongestReport);
  EXPECT_THROW(decode_outcome("4,1,Peer"), TransportError);
}

}  // namespace
}  // namespace gradwire
