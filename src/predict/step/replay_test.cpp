// Rehearsals written by hand, over wires whose calls take round numbers; times are checked by hand.
#include "predict/step/replay.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "trace/breakdown.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;

// Writes what one rank did, one thing after another.
class RankScript {
 public:
  RankScript(Timeline& timeline, Rank rank) : timeline_(timeline), rank_(rank) {}

  RankScript& computes(Seconds length, SpanKind kind = SpanKind::forward) {
    add(kind, now_, now_ + length);
    now_ += length;
    return *this;
  }
  // A call that is needed at once, or only by `needed()`.
  RankScript& calls(Collective kind, const std::string& group) { return asks(kind, group).needed(); }
  RankScript& asks(Collective kind, const std::string& group) {
    Span& span = add(SpanKind::bucket, now_, now_);
    span.rehearsed = {kind, false, group};
    span.bucket = 0, span.bytes = 1000, span.ready = now_;
    asked_ = timeline_.spans.size() - 1;
    return *this;
  }
  RankScript& needed() {
    timeline_.spans[asked_].begin = now_;
    now_ += 0.125;  // what answering by nobody takes, which is no computing
    timeline_.spans[asked_].end = now_;
    return *this;
  }

 private:
  Span& add(SpanKind kind, Seconds begin, Seconds end) {
    Span& span = timeline_.spans.emplace_back();
    span.rank = rank_, span.step = 1, span.kind = kind, span.begin = begin, span.end = end;
    return span;
  }

  Timeline& timeline_;
  const Rank rank_;
  Seconds now_ = 0;
  std::size_t asked_ = 0;
};

Sweep sweep_of_call(Collective kind, Seconds time, double share) {
  const Seconds processor = std::max(share * time, 1e-12);  // as a bench that finds none is read
  return {"tcp", kind, 2, {{100, time}, {10000, time}}, {{100, processor}, {10000, processor}}};
}

MeasuredCalls calls_of(Seconds time, double share) {
  return {{sweep_of_call(Collective::all_reduce, time, share), sweep_of_call(Collective::send, time, share)},
          "tcp"};
}

Seconds ends_at(const Timeline& timeline, Rank rank) {
  Seconds end = 0;
  for (const Span& span : timeline.spans)
    if (span.rank == rank) end = std::max(end, span.end);
  return end;
}

Timeline empty_rehearsal() { return {"test", 2, {}}; }

TEST(Replay, ranks_wait_for_the_slower_one_and_for_the_wires) {
  auto timeline = empty_rehearsal();
  RankScript(timeline, 0).computes(1).calls(Collective::all_reduce, "tp").computes(2);
  RankScript(timeline, 1).computes(3).calls(Collective::all_reduce, "tp").computes(1);
  const auto replayed = replay(timeline, calls_of(0.5, 0));
  EXPECT_NEAR(ends_at(replayed.timeline, 0), 3 + 0.5 + 2, 1e-9);
  EXPECT_NEAR(ends_at(replayed.timeline, 1), 3 + 0.5 + 1, 1e-9);
  EXPECT_NEAR(replayed.communication, 0.5, 1e-9);
  EXPECT_NO_THROW(check_timeline(replayed.timeline));
  Timeline rank_0 = replayed.timeline;
  std::erase_if(rank_0.spans, [](const Span& span) { return span.rank != 0; });
  EXPECT_NEAR(breakdown(rank_0).comm_exposed, 2.5, 1e-9) << "2 for the other rank, 0.5 for the wires";
  EXPECT_NEAR(breakdown(rank_0).forward, 3, 1e-9);
}

// Both ask after 1 s and need it after 3.
TEST(Replay, communication_hides_under_computing_as_far_as_it_leaves_the_processor_alone) {
  const auto end_with = [](Seconds time, double share) {
    auto timeline = empty_rehearsal();
    for (const Rank rank : {0, 1})
      RankScript(timeline, rank)
          .computes(1)
          .asks(Collective::all_reduce, "dp")
          .computes(2, SpanKind::backward)
          .needed()
          .computes(1);
    return ends_at(replay(timeline, calls_of(time, share)).timeline, 0);
  };
  EXPECT_NEAR(end_with(1.5, 0), 4, 1e-9);
  EXPECT_NEAR(end_with(3, 0), 5, 1e-9);
  EXPECT_NEAR(end_with(1.5, 1), 5.5, 1e-9);
  EXPECT_NEAR(end_with(1.5, 0.5), 4.75, 1e-9);
}

// A message through two stages: the second begins when it has come, and the first does not wait.
TEST(Replay, messages_keep_their_receiver_waiting_alone) {
  auto timeline = empty_rehearsal();
  RankScript(timeline, 0).computes(1).asks(Collective::send, "pipe").computes(4).needed();
  RankScript(timeline, 1).calls(Collective::recv, "pipe").computes(2);
  const auto replayed = replay(timeline, calls_of(0.5, 0));
  EXPECT_NEAR(ends_at(replayed.timeline, 0), 5, 1e-9);
  EXPECT_NEAR(ends_at(replayed.timeline, 1), 1.5 + 2, 1e-9);
}

TEST(Replay, is_refused_where_a_rank_makes_other_calls) {
  auto timeline = empty_rehearsal();
  RankScript(timeline, 0).computes(1).calls(Collective::all_reduce, "tp").calls(Collective::all_reduce, "tp");
  RankScript(timeline, 1).computes(1).calls(Collective::all_reduce, "tp");
  EXPECT_THROW(replay(timeline, calls_of(0.5, 0)), ConfigError);
}

TEST(Replay, says_which_bench_is_missing) {
  auto timeline = empty_rehearsal();
  for (const Rank rank : {0, 1}) RankScript(timeline, rank).computes(1).calls(Collective::all_gather, "dp");
  try {
    replay(timeline, calls_of(0.5, 0));
    FAIL() << "it was not measured";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("gradwire bench all_gather -n 2 -b tcp --json"));
  }
}

TEST(MeasuredCalls, tell_user_memory_apart_where_a_bench_did) {
  auto own = sweep_of_call(Collective::all_reduce, 1, 0), user = sweep_of_call(Collective::all_reduce, 2, 0);
  user.backend = "tcp:user";
  const MeasuredCalls both({own, user}, "");
  EXPECT_NEAR(both.of({Collective::all_reduce, false, "tp"}, 2, 500).time, 1, 1e-9);
  EXPECT_NEAR(both.of({Collective::all_reduce, true, "tp"}, 2, 500).time, 2, 1e-9);
  const MeasuredCalls one({own}, "");
  EXPECT_NEAR(one.of({Collective::all_reduce, true, "tp"}, 2, 500).time, 1, 1e-9);
}

// 1 us and 1 ns a byte.
TEST(MeasuredCalls, take_a_gather_that_shared_memory_has_no_need_of_for_a_meeting_there) {
  Sweep sweep{"shm", Collective::all_gather, 2, {{1000, 2e-6}, {9000, 1e-5}}, {{1000, 2e-6}, {9000, 1e-5}}};
  const RehearsedCall copied{Collective::all_gather, false, "dp"},
      viewed{Collective::all_gather, false, "dp", true};
  const MeasuredCalls shm({sweep}, "");
  EXPECT_NEAR(shm.of(copied, 2, 5000).time, 6e-6, 1e-9);
  EXPECT_NEAR(shm.of(viewed, 2, 5000).time, 1e-6, 1e-8);
  sweep.backend = "tcp";
  EXPECT_NEAR(MeasuredCalls({sweep}, "").of(viewed, 2, 5000).time, 6e-6, 1e-9);
}

}  // namespace
}  // namespace gradwire
