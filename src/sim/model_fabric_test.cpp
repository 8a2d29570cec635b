#include "sim/model_fabric.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "sim/simulate.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

constexpr Shape kShape = {{4, 0, 4}};

// Programs of ranks 0, 1, ... on chunks of 1000 bytes.
Trace replay(std::vector<Program> programs, const Network& network, const CostModel& cost = {}) {
  std::vector<Plan> plans;
  for (Program& program : programs)
    plans.push_back(make_plan({static_cast<Rank>(plans.size()), kShape, std::move(program)}));
  return simulate(plans, equal_chunks(4, 1000), network, cost);
}

Event event_of(const Trace& trace, Rank rank, int index) {
  for (const Event& event : trace.events)
    if (event.step == StepId{rank, index}) return event;
  ADD_FAILURE() << "no such step";
  return {};
}

Seconds end_of(const Trace& trace, Rank rank, int index) { return event_of(trace, rank, index).end; }

// Rank 0 to 1 and 0 to 2 over pipe 0, rank 0 to 1 also over pipe 1. Pipe 0: 1000 bytes/s and 1 s; pipe 1:
// 500 bytes/s and 0.25 s.
Network shared() {
  Network network(3);
  network.add_pipe({1000, 1});
  network.add_pipe({500, 0.25});
  network.add_way({0, 1}, std::vector<PipeId>{0, 1});
  network.add_way({0, 2}, std::vector<PipeId>{0});
  return network;
}

TEST(ModelFabric, sends_a_message_in_latency_plus_bytes_by_rate) {
  const Trace trace = replay({{Step::send(1, out(0))}, {Step::recv(0, out(0))}}, shared());
  EXPECT_DOUBLE_EQ(end_of(trace, 0, 0), 3.25);  // 1 + 0.25 + 1000 / 500
  EXPECT_DOUBLE_EQ(end_of(trace, 1, 0), 3.25);
  EXPECT_EQ(event_of(trace, 1, 0).bytes, 1000u);
}

TEST(ModelFabric, waits_for_the_receiver) {
  Step compute{.op = Op::compute, .dst = out(0), .duration = 10};
  const Trace trace = replay({{Step::send(1, out(0))}, {compute, Step::recv(0, out(0))}}, shared());
  EXPECT_DOUBLE_EQ(end_of(trace, 0, 0), 13.25);  // the receiver computes into the place until 10
  EXPECT_DOUBLE_EQ(event_of(trace, 0, 0).begin, 0);
  EXPECT_DOUBLE_EQ(event_of(trace, 1, 1).begin, 10);
}

TEST(ModelFabric, shares_a_pipe_while_it_is_shared) {
  const Trace trace = replay(
      {{Step::send(1, out(0)), Step::send(2, out(0))}, {Step::recv(0, out(0))}, {Step::recv(0, out(0))}},
      shared());
  // To rank 2 bytes flow from 1 s on, alone at 1000/s, so 250 are gone at 1.25 s, when those to rank 1 begin.
  // Both then have 500/s: rank 2 is done after 750 / 500 = 1.5 s more, at 2.75. Rank 1 never had more than
  // pipe 1's 500/s: 1.25 + 2 = 3.25.
  EXPECT_DOUBLE_EQ(end_of(trace, 2, 0), 2.75);
  EXPECT_DOUBLE_EQ(end_of(trace, 1, 0), 3.25);
}

TEST(ModelFabric, speeds_a_flow_up_when_another_ends) {
  // Two ways over one pipe of 1000/s without latency; 1000 and 3000 bytes. 500/s each: the short one ends at
  // 2 s, when the long one has 2000 left, for which it takes 2 s alone.
  Network network(3);
  network.add_pipe({1000, 0});
  for (const Rank to : {1, 2}) network.add_way({0, to}, std::vector<PipeId>{0});
  const Trace trace = replay({{Step::send(1, out(0)), Step::send(2, out(0, 3))},
                              {Step::recv(0, out(0))},
                              {Step::recv(0, out(0, 3))}},
                             network);
  EXPECT_DOUBLE_EQ(end_of(trace, 1, 0), 2);
  EXPECT_DOUBLE_EQ(end_of(trace, 2, 0), 4);
}

TEST(ModelFabric, carries_messages_of_a_pair_in_order_with_one_latency) {
  const Trace trace = replay(
      {{Step::send(1, out(0)), Step::send(1, out(1, 2))}, {Step::recv(0, out(0)), Step::recv(0, out(1, 2))}},
      shared());
  EXPECT_DOUBLE_EQ(end_of(trace, 1, 0), 3.25);
  EXPECT_DOUBLE_EQ(end_of(trace, 1, 1), 7.25);  // its latency has passed: 2000 / 500 more
}

TEST(ModelFabric, charges_every_message_its_overhead) {
  const Trace trace =
      replay({{Step::send(1, out(0)), Step::send(1, out(1))}, {Step::recv(0, out(0)), Step::recv(0, out(1))}},
             shared(), {.per_message = 0.5});
  EXPECT_DOUBLE_EQ(end_of(trace, 1, 0), 3.75);  // 1.25 + 0.5 + 2
  EXPECT_DOUBLE_EQ(end_of(trace, 1, 1), 6.25);  // + 0.5 + 2
}

TEST(ModelFabric, leaves_to_data_what_the_protocol_leaves) {
  const Trace trace =
      replay({{Step::send(1, out(0))}, {Step::recv(0, out(0))}}, shared(), {.efficiency = 0.8});
  EXPECT_DOUBLE_EQ(end_of(trace, 0, 0), 3.75);  // 1.25 + 1000 / 400
}

TEST(ModelFabric, lets_sums_and_copies_of_a_rank_take_turns) {
  const CostModel cost{.per_step = 0.5, .reduce_bytes_per_s = 1000, .copy_bytes_per_s = 4000};
  const Trace trace = replay({{Step::reduce(out(0), scratch(0, 0)), Step::copy(out(1), out(2)),
                               Step{.op = Op::compute, .duration = 0.25}}},
                             shared(), cost);
  EXPECT_DOUBLE_EQ(end_of(trace, 0, 0), 1.5);          // 0.5 + 1000 / 1000
  EXPECT_DOUBLE_EQ(event_of(trace, 0, 1).begin, 1.5);  // after it
  EXPECT_DOUBLE_EQ(end_of(trace, 0, 1), 2.25);         // 0.5 + 1000 / 4000
  EXPECT_DOUBLE_EQ(end_of(trace, 0, 2), 0.25);         // computing goes on beside them
}

TEST(ModelFabric, does_nothing_in_no_time) {
  Network network(2);
  network.add_way({0, 1}, {});
  const Trace trace = replay({{Step::send(1, out(0)), Step::send(1, out(0, 0))},
                              {Step::recv(0, out(0)), Step::recv(0, out(0, 0)), Step::copy(out(1), out(0))}},
                             network);
  EXPECT_EQ(trace.events.size(), 5u);
  for (const Event& event : trace.events) EXPECT_EQ(event.end, 0);
}

TEST(ModelFabric, names_who_waits_for_whom_for_ever) {
  EXPECT_THAT(
      [] {
        replay({{Step::send(1, out(0))}, {}}, shared());
      },
      ThrowsMessage<Error>(HasSubstr("stuck: these wait for each other: rank 0, step 0 (send out chunk 0")));
}

TEST(ModelFabric, names_ranks_without_a_way) {
  EXPECT_THAT(
      [] {
        replay({{}, {Step::send(0, out(0))}}, shared());
      },
      ThrowsMessage<ConfigError>(HasSubstr("no way from rank 1 to rank 0")));
}

TEST(ModelFabric, refuses_costs_that_cannot_be) {
  const Network network = shared();
  EXPECT_THROW(replay({}, network, {.per_step = -1}), ConfigError);
  EXPECT_THROW(replay({}, network, {.reduce_bytes_per_s = 0}), ConfigError);
  EXPECT_THROW(replay({}, network, {.efficiency = 0}), ConfigError);
  EXPECT_THROW(replay({{}, {}, {}, {}}, network), ConfigError);  // more ranks than the network has
}

}  // namespace
}  // namespace gradwire
