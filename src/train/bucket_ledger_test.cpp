// The book of buckets, driven through everything that can happen to it: all ways to put up to six gradients into up to
// three buckets, all orders in which they come, all sets that stay absent, an error at every point.
#include "train/bucket_ledger.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <numeric>

#include "support/error_of.h"

namespace gradwire {
namespace {

using Gradient = BucketLedger::Gradient;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::vector<std::string> names(int count) {
  std::vector<std::string> result;
  for (int i = 0; i < count; ++i) result.push_back("weight" + std::to_string(i));
  return result;
}

std::vector<Bucket> layout_of(const std::vector<std::vector<int>>& members) {
  std::vector<Bucket> buckets;
  for (const auto& of_one : members) buckets.push_back({.members = of_one});
  return buckets;
}

// What a rank does of the step with these buckets.
std::vector<Task> step_of(const std::vector<Bucket>& layout) {
  return ddp_step_graph(2, layout).ranks.front();
}

void lay_out(BucketLedger& ledger, const std::vector<Bucket>& layout) {
  ledger.lay_out(layout, step_of(layout));
}

// Every way to put `count` gradients into `buckets` buckets, none of them empty.
void for_all_layouts(int count, int buckets, const std::function<void(const std::vector<Bucket>&)>& visit) {
  std::vector<int> place(static_cast<std::size_t>(count), 0);
  const std::function<void(std::size_t)> choose = [&](std::size_t next) {
    if (next < place.size()) {
      for (place[next] = 0; place[next] < buckets; ++place[next]) choose(next + 1);
      return;
    }
    std::vector<std::vector<int>> members(static_cast<std::size_t>(buckets));
    for (std::size_t i = 0; i < place.size(); ++i)
      members[static_cast<std::size_t>(place[i])].push_back(static_cast<int>(i));
    if (std::none_of(members.begin(), members.end(), [](const auto& of_one) { return of_one.empty(); }))
      visit(layout_of(members));
  };
  choose(0);
}

// What a ledger must do, said once more in the plainest way: sets, looked at anew after every event.
struct Oracle {
  const std::vector<Bucket>& layout;
  std::vector<bool> noted;
  int left = 0;

  bool complete(int bucket) const {
    const auto& members = layout[static_cast<std::size_t>(bucket)].members;
    return std::all_of(members.begin(), members.end(),
                       [&](int member) { return noted[static_cast<std::size_t>(member)]; });
  }
};

// One event, and all that may leave after it. Says what is wrong.
void step(BucketLedger& ledger, Oracle& oracle, int parameter, Gradient what) {
  int before = 0, after = 0;
  for (int bucket = 0; bucket < ledger.buckets(); ++bucket) before += oracle.complete(bucket);
  const auto completed = ledger.note(parameter, what);
  oracle.noted[static_cast<std::size_t>(parameter)] = true;
  for (int bucket = 0; bucket < ledger.buckets(); ++bucket) after += oracle.complete(bucket);
  ASSERT_EQ(completed.has_value(), after == before + 1);
  ASSERT_TRUE(!completed || oracle.complete(*completed));
  while (const auto bucket = ledger.take_next()) {
    ASSERT_EQ(*bucket, oracle.left) << "buckets leave in their order, each once";
    ASSERT_TRUE(oracle.complete(*bucket));
    ++oracle.left;
  }
  ASSERT_TRUE(oracle.left == ledger.buckets() || !oracle.complete(oracle.left)) << "a complete bucket stayed";
}

// A whole backward: gradients in this order, those of `absent` only at its end.
void run_backward(BucketLedger& ledger, const std::vector<Bucket>& layout, const std::vector<int>& order,
                  unsigned absent) {
  ledger.begin();
  Oracle oracle{layout, std::vector<bool>(order.size(), false)};
  for (const int parameter : order)
    if ((absent >> parameter & 1) == 0) step(ledger, oracle, parameter, Gradient::here);
  for (const int parameter : ledger.awaited()) {
    ASSERT_EQ(absent >> parameter & 1, 1u);
    step(ledger, oracle, parameter, Gradient::absent);
  }
  ASSERT_EQ(ledger.left(), ledger.buckets()) << "at the end every bucket has left";
  ASSERT_THAT(ledger.awaited(), IsEmpty());
  ASSERT_EQ(ledger.order().size(), order.size());
}

// Every order of so many gradients in every layout of up to three buckets, until something is wrong.
void for_all_orders(
    int count,
    const std::function<void(BucketLedger&, const std::vector<Bucket>&, const std::vector<int>&)>& run) {
  BucketLedger ledger(names(count));
  for (int buckets = 1; buckets <= std::min(count, 3); ++buckets)
    for_all_layouts(count, buckets, [&](const std::vector<Bucket>& layout) {
      lay_out(ledger, layout);
      std::vector<int> order(static_cast<std::size_t>(count));
      std::iota(order.begin(), order.end(), 0);
      do {
        run(ledger, layout, order);
      } while (!testing::Test::HasFatalFailure() && std::next_permutation(order.begin(), order.end()));
    });
}

class AllOrders : public testing::TestWithParam<int> {};

TEST_P(AllOrders, of_gradients_let_every_bucket_leave_once_in_order_and_complete) {
  for_all_orders(GetParam(), [](auto& ledger, const auto& layout, const auto& order) {
    run_backward(ledger, layout, order, 0);
  });
}

class AllOrdersOfSome : public testing::TestWithParam<int> {};

TEST_P(AllOrdersOfSome, gradients_let_every_bucket_leave_with_the_absent_ones_at_the_end) {
  for_all_orders(GetParam(), [&](auto& ledger, const auto& layout, const auto& order) {
    for (unsigned absent = 1; absent < 1u << order.size() && !HasFatalFailure(); ++absent)
      run_backward(ledger, layout, order, absent);
  });
}

INSTANTIATE_TEST_SUITE_P(OneToSix, AllOrders, testing::Range(1, 7));
// 6! orders of 64 sets in 540 layouts would take minutes.
INSTANTIATE_TEST_SUITE_P(OneToFive, AllOrdersOfSome, testing::Range(1, 6));

TEST(BucketLedger, begins_anew_wherever_the_backward_before_it_failed) {
  const auto layout = layout_of({{2, 0}, {1}});
  for (const int noted : {0, 1, 2}) {
    BucketLedger ledger(names(3));
    lay_out(ledger, layout);
    for (int parameter = 0; parameter < noted; ++parameter) {
      ledger.note(parameter, Gradient::here);
      ledger.take_next();
    }
    ledger.begin();
    EXPECT_THAT(ledger.awaited(), ElementsAre(0, 1, 2));
    run_backward(ledger, layout, {2, 1, 0}, 0);
    EXPECT_THAT(ledger.order(), ElementsAre(2, 1, 0));
  }
}

TEST(BucketLedger, refuses_a_second_gradient_by_name_and_changes_nothing) {
  BucketLedger ledger(names(2));
  lay_out(ledger, layout_of({{0, 1}}));
  ledger.note(0, Gradient::here);
  EXPECT_THAT(error_of([&] { ledger.note(0, Gradient::here); }), HasSubstr("weight0 got two gradients"));
  EXPECT_THAT(ledger.awaited(), ElementsAre(1));
  EXPECT_EQ(ledger.note(1, Gradient::here), 0);
}

TEST(BucketLedger, refuses_a_gradient_that_was_taken_for_absent) {
  BucketLedger ledger(names(2));
  lay_out(ledger, layout_of({{0, 1}}));
  ledger.note(1, Gradient::absent);
  EXPECT_THAT(error_of([&] { ledger.note(1, Gradient::here); }), HasSubstr("weight1 was taken for unused"));
}

TEST(BucketLedger, refuses_a_gradient_that_is_in_no_bucket_and_awaits_none) {
  BucketLedger ledger(names(2));
  lay_out(ledger, layout_of({{1}}));
  EXPECT_THAT(ledger.awaited(), ElementsAre(1));
  EXPECT_THAT(error_of([&] { ledger.note(0, Gradient::here); }),
              HasSubstr("static_graph: parameter weight0"));
}

// What the graph says is done, whatever it says: a step whose second bucket leaves first, and whose first one waits for both.
TEST(BucketLedger, lets_buckets_leave_in_the_order_of_the_graph_and_after_what_it_says) {
  const auto layout = layout_of({{0}, {1}});
  auto step = step_of(layout);
  std::vector<std::size_t> sends;
  std::vector<int> backwards;
  for (std::size_t i = 0; i < step.size(); ++i) {
    if (step[i].kind == TaskKind::collective) sends.push_back(i);
    if (step[i].kind == TaskKind::backward) backwards.push_back(static_cast<int>(i));
  }
  std::swap(step[sends[0]].unit, step[sends[1]].unit);
  step[sends[0]].after = {backwards[1]};
  step[sends[1]].after = backwards;
  BucketLedger ledger(names(2));
  ledger.lay_out(layout, step);
  EXPECT_THAT(ledger.awaited_by_update(), ElementsAre(1, 0));
  ledger.note(0, Gradient::here);
  EXPECT_EQ(ledger.take_next(), std::nullopt) << "bucket 0 is complete, and not the first to leave";
  ledger.note(1, Gradient::here);
  EXPECT_EQ(ledger.take_next(), 1);
  EXPECT_EQ(ledger.take_next(), 0);
}

TEST(BucketLedger, takes_a_step_of_several_micro_batches_for_its_last_backward) {
  const auto layout = layout_of({{2, 0}, {1}});
  BucketLedger ledger(names(3));
  ledger.lay_out(layout, ddp_step_graph(4, layout, 3).ranks.front());
  run_backward(ledger, layout, {2, 1, 0}, 0);
  EXPECT_THAT(ledger.awaited_by_update(), ElementsAre(0, 1));
}

TEST(BucketLedger, lets_all_buckets_of_a_rank_without_input_leave) {
  BucketLedger ledger(names(3));
  lay_out(ledger, layout_of({{2}, {0, 1}}));
  ledger.note_all_absent();
  EXPECT_EQ(ledger.take_next(), 0);
  EXPECT_EQ(ledger.take_next(), 1);
  EXPECT_EQ(ledger.take_next(), std::nullopt);
  EXPECT_THAT(ledger.order(), ElementsAre(0, 1, 2));
}

}  // namespace
}  // namespace gradwire
