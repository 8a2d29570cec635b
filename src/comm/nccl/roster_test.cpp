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
    EXPECT_FALSE(roster.find_alarm());
    EXPECT_THAT(roster.describe(2), HasSubstr("GPU 2 at 0000:02:00.0"));
  }));
}

const Signature kCall{.sequence = 7, .kind = Collective::barrier};

TEST(Roster, tells_the_others_of_the_first_failure) {
  expect_all_ok(run_threads(2, [](const World& world) {
    Roster roster(world, card_of(world.rank));
    if (world.rank == 0) {
      const auto account = roster.take_account(kCall, {true, "waited 1 s"}, Deadline::after(0));
      EXPECT_EQ(account.stuck[0], kCall);
      EXPECT_FALSE(account.stuck[1]);
      EXPECT_FALSE(account.gone);
      world.store->set("told", "1");
    } else {
      world.store->get("told", Deadline::after(world.timeout));
      const auto alarm = roster.find_alarm();
      ASSERT_TRUE(alarm);
      EXPECT_TRUE(alarm->timed_out);
      EXPECT_EQ(alarm->text, "rank 0: waited 1 s");
      const auto account = roster.take_account(kCall, *alarm, Deadline::after(0));
      EXPECT_EQ(account.stuck[0], kCall);
      EXPECT_EQ(account.stuck[1], kCall);
    }
  }));
}

// Rank 1 is lost without a word; rank 2 too, but after it told that it was stuck: it is no cause.
TEST(Roster, takes_a_rank_that_went_without_a_word_for_the_cause) {
  expect_all_ok(run_threads(3, [](const World& world) {
    Roster roster(world, card_of(world.rank));
    if (world.rank == 1) return world.store->set("lost/1", "its connection closed");
    if (world.rank == 2) {
      roster.take_account(kCall, {false, "NCCL says: remote process error"}, Deadline::after(0));
      return world.store->set("lost/2", "its connection closed");
    }
    for (const char* key : {"lost/1", "lost/2"}) world.store->get(key, Deadline::after(world.timeout));
    const auto account = roster.take_account(kCall, {}, Deadline::after(world.timeout));
    EXPECT_EQ(account.gone, 1);
    EXPECT_EQ(account.stuck[2], kCall);
  }));
}

TEST(Diagnosis, names_a_rank_that_left_though_it_is_still_there) {
  expect_all_ok(run_threads(2, [](const World& world) {
    Roster roster(world, card_of(world.rank));
    if (world.rank == 1) {
      roster.leave("rank 1 aborted its communicator");
      return world.store->set("told", "1");
    }
    world.store->get("told", Deadline::after(world.timeout));
    ASSERT_TRUE(roster.find_alarm());
    const auto error = diagnose({world.rank, kCall, false, roster.find_alarm()->text}, roster);
    try {
      std::rethrow_exception(error);
    } catch (const PeerLost& lost) {
      EXPECT_EQ(lost.peer(), 1);
      EXPECT_THAT(lost.what(), HasSubstr("rank 1 aborted its communicator; rank 0 was in call 7: barrier"));
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
