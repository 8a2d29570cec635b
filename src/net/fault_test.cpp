#include "net/fault.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "net/overdue.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

template <typename E>
std::string raised(const Fault& fault, Rank here) {
  try {
    fault.raise(here);
  } catch (const E& error) {
    return error.what();
  }
}

Fault travelled(const Fault& fault) { return Fault::decode(fault.encode()); }

TEST(Fault, stays_the_same_kind_of_error_on_every_rank_and_names_who_found_it) {
  EXPECT_EQ(raised<Mismatch>(Fault::of(Mismatch("4 is not 8"), 2), 2), "4 is not 8");
  EXPECT_EQ(raised<Mismatch>(travelled(Fault::of(Mismatch("4 is not 8"), 2)), 0),
            "rank 2 reports: 4 is not 8");
  EXPECT_EQ(raised<Timeout>(travelled(Fault::of(Timeout("late"), 1)), 0), "rank 1 reports: late");
  EXPECT_EQ(raised<TransportError>(travelled(Fault::of(std::bad_alloc(), 1)), 0),
            "rank 1 reports: std::bad_alloc");
}

TEST(Fault, keeps_the_name_of_the_lost_rank) {
  const Fault fault = travelled(Fault::of(PeerLost(3, "rank 3 is gone"), 1));
  try {
    fault.raise(0);
  } catch (const PeerLost& error) {
    EXPECT_EQ(error.peer(), 3);
  }
}

TEST(Fault, of_a_rank_that_cancelled_is_the_loss_of_that_rank_to_others) {
  const Fault fault = travelled(Fault::of(Cancelled("no longer wanted"), 1));
  EXPECT_EQ(raised<Cancelled>(fault, 1), "no longer wanted");
  EXPECT_EQ(raised<PeerLost>(fault, 0), "rank 1 gave up: no longer wanted");
}

TEST(Fault, never_tells_a_rank_that_it_is_itself_lost) {
  try {
    Fault::of(PeerLost(0, "rank 0 is gone"), 1).raise(0);
  } catch (const PeerLost& error) {
    EXPECT_EQ(error.peer(), 1);
  }
}

TEST(Fault, of_one_that_lost_patience_shows_for_whom_others_waited) {
  const Fault first = travelled(Fault::of(Overdue("rank 1 waited for rank 0", {0}), 1));
  const Fault seen = first.seen_by(0, {2}, "rank 2 to send");
  EXPECT_EQ(raised<Timeout>(seen, 0),
            "rank 1 reports: rank 1 waited for rank 0; rank 0 waited for rank 2 to send");
  EXPECT_EQ(seen.awaited, std::vector<Rank>{2});
  EXPECT_EQ(raised<Mismatch>(Fault::of(Mismatch("4 is not 8"), 1).seen_by(0, {2}, "rank 2"), 0),
            "rank 1 reports: 4 is not 8");
}

TEST(Fault, can_be_read_from_garbage) {
  for (const char* text : {"", " ", "99 1", "x y z", "-3 -3 -3 -3"})
    EXPECT_ANY_THROW(Fault::decode(text).raise(0));
  EXPECT_LE(Fault::of(Timeout(std::string(9000, 'x')), 1).encode().size(), Fault::kLongest);
}

}  // namespace
}  // namespace gradwire
