#include "comm/nccl/roster.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "comm/nccl/diagnosis.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

RankCard card_of(Rank rank) {
  RankCard card = describe_this_process();
  card.device = rank;
  card.gpu = fmt::format("0000:0{}:00.0", rank);
  return card;
}

TEST(RankCard, survives_the_store) {
  RankCard card = card_of(3);
  EXPECT_EQ(decode(encode(card)), card);
  card.problem = "no GPU:\nsecond line";
  EXPECT_EQ(decode(encode(card)), card);
  EXPECT_THROW(decode("cut\nshort"), Error);
}

TEST(Placement, allows_equal_pci_addresses_on_different_hosts) {
  std::vector<RankCard> cards(2, card_of(0));
  EXPECT_THROW(check_placement(cards), ConfigError);
  cards[1].host = "another";
  EXPECT_NO_THROW(check_placement(cards));
}

TEST(Roster, shares_what_rank_0_says_and_knows_of_no_trouble) {
  expect_all_ok(run_threads(3, [](const World& world) {
    Roster roster(world, card_of(world.rank));
    EXPECT_EQ(roster.share("word", world.rank == 0 ? "hello" : "ignored"), "hello");
    EXPECT_FALSE(roster.find_ended());
    EXPECT_FALSE(roster.find_lost());
    EXPECT_FALSE(roster.find_alarm());
    EXPECT_THAT(roster.describe(2), HasSubstr("GPU 2 at 0000:02:00.0"));
  }));
}

TEST(Roster, tells_the_others_of_the_first_failure) {
  expect_all_ok(run_threads(2, [](const World& world) {
    Roster roster(world, card_of(world.rank));
    const Signature call{.sequence = 7, .kind = Collective::barrier};
    const auto now = Deadline::after(0);
    if (world.rank == 0) {
      const auto stuck = roster.compare_stuck(call, {true, "waited 1 s"}, now);
      EXPECT_EQ(stuck[0], call);
      EXPECT_FALSE(stuck[1]);
      world.store->set("told", "1");
    } else {
      world.store->get("told", Deadline::after(world.timeout));
      const auto alarm = roster.find_alarm();
      ASSERT_TRUE(alarm);
      EXPECT_TRUE(alarm->timed_out);
      EXPECT_EQ(alarm->text, "rank 0: waited 1 s");
      const auto stuck = roster.compare_stuck(call, *alarm, now);
      EXPECT_EQ(stuck[0], call);
      EXPECT_EQ(stuck[1], call);
    }
  }));
}

TEST(Roster, finds_a_rank_that_the_store_has_lost) {
  expect_all_ok(run_threads(3, [](const World& world) {
    Roster roster(world, card_of(world.rank));
    if (world.rank == 1) return;
    world.store->set("lost/1", "its connection closed");
    EXPECT_EQ(roster.find_lost(), 1);
    try {
      std::rethrow_exception(diagnose({world.rank, Signature{}, false, "NCCL says: 6"}, roster));
    } catch (const PeerLost& error) {
      EXPECT_EQ(error.peer(), 1);
    }
  }));
}

// A rank that is stuck elsewhere is named with where it is, which is how a rank that skipped a call shows.
TEST(Diagnosis, tells_who_is_in_another_call) {
  const auto outcomes = run_threads(2, [](const World& world) {
    Roster roster(world, card_of(world.rank));
    const auto sequence = static_cast<std::uint64_t>(world.rank + 3);
    const Signature call{.sequence = sequence, .kind = Collective::barrier};
    std::rethrow_exception(diagnose({world.rank, call, true, "waited 1 s"}, roster));
  });
  EXPECT_EQ(outcomes[0].error, "Timeout");
  EXPECT_THAT(outcomes[0].text,
              HasSubstr("rank 0 in call 3: barrier: waited 1 s; but rank 1 is in call 4: barrier"));
}

}  // namespace
}  // namespace gradwire
