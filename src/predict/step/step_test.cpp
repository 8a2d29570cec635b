#include "predict/step/step.h"

#include <gtest/gtest.h>

#include <cmath>
#include <random>

#include "sched/ddp_step.h"
#include "sched/step_run.h"

namespace gradwire {
namespace {

// Two layers of work 1 and 3: forward takes 1 s, backward 2 s, of which the last layer, with the first
// bucket, takes three quarters. All constants are 0 but those a test sets.
StepProblem two_buckets(double first_time, double second_time) {
  StepProblem problem;
  problem.options.batch = 8;
  problem.options.overlap = true;
  problem.ranks = 2;
  problem.forward = 1;
  problem.backward = 2;
  problem.buckets = {{100, 0.75, first_time}, {200, 1.0, second_time}};
  problem.gradient_bytes = 300;
  return problem;
}

TEST(Step, without_constants_and_communication_is_computing) {
  auto problem = two_buckets(0, 0);
  problem.optimizer = 0.5;
  EXPECT_DOUBLE_EQ(solve_step(problem, {}), 3.5);
  EXPECT_DOUBLE_EQ(solve(problem, {}).scaling, 1);
}

// Ready at 1.5 s of backward; 0.3 s long, over at 1.8: hidden. The second is ready at 2 and takes 0.4:
// exposed.
TEST(Step, hides_what_is_ready_early_and_exposes_the_tail) {
  const auto estimate = solve(two_buckets(0.3, 0.4), {});
  EXPECT_DOUBLE_EQ(estimate.parts.comm_exposed, 0.4);
  EXPECT_NEAR(estimate.parts.comm_overlapped, 0.3, 1e-12);
  EXPECT_DOUBLE_EQ(estimate.step, 3.4);
  EXPECT_DOUBLE_EQ(estimate.samples_per_s, 16 / 3.4);
}

// The first runs from 1.5 to 2.5; the second, ready at 2, has to wait for it and ends at 2.9.
TEST(Step, launches_buckets_in_order_one_at_a_time) {
  const auto estimate = solve(two_buckets(1.0, 0.4), {});
  EXPECT_DOUBLE_EQ(estimate.buckets[1].ready, 1 + 2.0);
  EXPECT_DOUBLE_EQ(estimate.buckets[1].start, 1 + 2.5);
  EXPECT_DOUBLE_EQ(estimate.parts.comm_exposed, 0.9);
}

// The last gradient comes with the end of backward, whatever adding up the times of layers makes of it.
TEST(Step, what_is_ready_at_the_end_is_exposed_where_nothing_hides_under_backward) {
  auto problem = two_buckets(0.3, 0.4);
  problem.host_share = 1;
  problem.buckets[1].ready = 1 - 1e-15;
  StepConstants constants;
  constants.slowdown_host = 1;
  const auto estimate = solve(problem, constants);
  EXPECT_DOUBLE_EQ(estimate.parts.comm_exposed, 0.4);
  EXPECT_NEAR(estimate.slowdown, 0.3, 1e-12);
}

TEST(Step, without_overlap_everything_is_exposed) {
  auto problem = two_buckets(0.3, 0.4);
  problem.options.overlap = false;
  EXPECT_DOUBLE_EQ(solve(problem, {}).parts.comm_exposed, 0.7);
}

// Half of backward may hide: the first bucket starts at 2 * (1 - 0.5 * 0.25) = 1.75 s.
TEST(Step, an_unknown_overlap_of_horovod_hides_a_share_and_ddp_overlaps) {
  auto problem = two_buckets(0.1, 0.4);
  problem.options.overlap.reset();
  EXPECT_DOUBLE_EQ(solve(problem, {}).buckets[0].start, 1 + 1.5);
  problem.options.distribution = Distribution::horovod;
  StepConstants constants;
  constants.hiding_horovod = 0.5;
  EXPECT_DOUBLE_EQ(solve(problem, constants).buckets[0].start, 1 + 1.75);
}

// 0.3 s of collective under backward slow it by half of that; the tail stays.
TEST(Step, collectives_under_backward_slow_it_down) {
  StepConstants constants;
  constants.slowdown_direct = 0.5;
  EXPECT_NEAR(solve_step(two_buckets(0.3, 0.4), constants), 3.4 + 0.15, 1e-12);
}

// 1 s of collective from 1.5 s on; backward has 0.5 s left and goes on at half its pace, so it ends with the
// collective at 2.5. The second bucket is ready then, not before.
TEST(Step, buckets_become_ready_from_the_slowed_backward) {
  StepConstants constants;
  constants.slowdown_direct = 0.5;
  const auto estimate = solve(two_buckets(1.0, 0.4), constants);
  EXPECT_DOUBLE_EQ(estimate.buckets[1].ready, 1 + 2.5);
  EXPECT_DOUBLE_EQ(estimate.buckets[1].start, 1 + 2.5);
  EXPECT_DOUBLE_EQ(estimate.slowdown, 0.5);
  EXPECT_DOUBLE_EQ(estimate.communication_cost(), 0.9);
  EXPECT_DOUBLE_EQ(estimate.step, 3.9);
}

// Random models and machines: more work, more bytes, more latency or a narrower link never make a step shorter,
// and more work never makes communication cost more.
class Random {
 public:
  double between(double low, double high) { return std::uniform_real_distribution<>(low, high)(engine_); }

 private:
  std::mt19937 engine_{7};
};

StepProblem random_problem(Random& random) {
  StepProblem problem;
  problem.options.batch = 1;
  problem.ranks = 4;
  problem.forward = random.between(0.01, 1);
  problem.backward = random.between(0.01, 2);
  problem.optimizer = random.between(0, 0.1);
  problem.host_share = random.between(0, 1) < 0.5 ? 1 : 0;
  double ready = 0;
  for (int i = static_cast<int>(random.between(1, 9)); i > 0; --i) {
    ready += (1 - ready) * random.between(0, 1);
    problem.buckets.push_back({1000, i == 1 ? 1.0 : ready, random.between(0, 0.5)});
  }
  return problem;
}

// The same step as the graph that a reducer executes, each rank computing on the processor that moves the bytes.
StepRun pass_graph(const StepGraph& graph, const StepProblem& problem) {
  const auto& buckets = problem.buckets;
  const auto bucket = [&](const Task& task) {
    return static_cast<std::size_t>(bucket_of(task, static_cast<int>(buckets.size())));
  };
  const auto duration = [&](Rank, const Task& task) {
    if (task.kind == TaskKind::update) return problem.optimizer;
    if (task.kind == TaskKind::forward) return problem.forward / static_cast<double>(buckets.size());
    const auto i = bucket(task);
    if (task.kind == TaskKind::collective) return buckets[i].time;
    return problem.backward * (buckets[i].ready - (i == 0 ? 0 : buckets[i - 1].ready));
  };
  return run_step(graph, duration, StepLanes::by_group,
                  [&](Rank, const Task& task) { return buckets[bucket(task)].slowdown; });
}

TEST(Step, of_ddp_is_that_of_its_step_graph_passed_task_by_task) {
  Random random;
  for (int i = 0; i < 300; ++i) {
    auto problem = random_problem(random);
    problem.options.accumulate = 1 + i % 3;
    problem.on_processor = true;
    std::vector<Bucket> layout;
    for (auto& bucket : problem.buckets) {
      bucket.slowdown = random.between(0, 1);
      layout.push_back({{}, bucket.bytes});
    }
    const auto graph = ddp_step_graph(problem.ranks, layout, problem.options.accumulate);
    const auto run = pass_graph(graph, problem);
    const auto estimate = solve(problem, {});
    ASSERT_NEAR(estimate.step, run.end, 1e-9);
    for (std::size_t task = 0; task < graph.ranks[0].size(); ++task) {
      const Task& it = graph.ranks[0][task];
      if (it.kind != TaskKind::collective) continue;
      const auto& sent =
          estimate.buckets[static_cast<std::size_t>(bucket_of(it, static_cast<int>(layout.size())))];
      ASSERT_NEAR(sent.ready, run.ranks[0][static_cast<std::size_t>(it.after.front())].end, 1e-9);
      ASSERT_NEAR(sent.start, run.ranks[0][task].begin, 1e-9);
      ASSERT_NEAR(sent.end, run.ranks[0][task].end, 1e-9);
    }
  }
}

TEST(Step, more_of_anything_never_makes_it_shorter_nor_communication_dearer) {
  Random random;
  StepConstants constants;
  for (int i = 0; i < 2000; ++i) {
    constants.slowdown_direct = random.between(0, 1);
    constants.slowdown_host = random.between(0, 1);
    constants.spread_share = random.between(0, 0.05);
    const auto problem = random_problem(random);
    const auto before = solve(problem, constants);
    auto longer = problem, slower = problem, one = problem;
    const double factor = random.between(1, 3);
    longer.forward *= factor, longer.backward *= factor;
    for (auto& bucket : slower.buckets) bucket.time = bucket.time * factor + 1e-4;
    one.buckets[one.buckets.size() / 2].time += random.between(0, 0.1);
    EXPECT_GE(solve(longer, constants).step, before.step - 1e-12);
    EXPECT_LE(solve(longer, constants).communication_cost(), before.communication_cost() + 1e-9);
    EXPECT_GE(solve(slower, constants).step, before.step - 1e-12);
    EXPECT_GE(solve(one, constants).step, before.step - 1e-9);
  }
}

TEST(Step, comes_to_an_end_with_the_slowest_rank) {
  StepConstants constants;
  constants.spread_share = 0.01;
  EXPECT_NEAR(solve_step(two_buckets(0, 0), constants), 3 + 0.03 * expected_maximum(2), 1e-12);
}

// Tables of order statistics: 0.5642 (n = 2), 1.4236 (8), 2.5076 (100).
TEST(Step, knows_the_expected_maximum_of_draws) {
  EXPECT_EQ(expected_maximum(1), 0);
  EXPECT_NEAR(expected_maximum(2), 0.5642, 0.03);
  EXPECT_NEAR(expected_maximum(8), 1.4236, 0.02);
  EXPECT_NEAR(expected_maximum(100), 2.5076, 0.01);
}

TEST(Step, accumulation_sends_once_for_several_micro_batches) {
  auto problem = two_buckets(0.3, 0.4);
  problem.options.accumulate = 4;
  const auto estimate = solve(problem, {});
  EXPECT_DOUBLE_EQ(estimate.step, 4 * 3 + 0.4);
  EXPECT_DOUBLE_EQ(estimate.samples_per_s, 4 * 16 / 12.4);
}

TEST(Step, parts_add_up_to_the_step) {
  auto problem = two_buckets(1.0, 0.4);
  problem.options.accumulate = 3;
  problem.options.data = 0.1;
  problem.optimizer = 0.2;
  problem.tensors = 100;
  problem.copies = 0.01;
  const auto estimate = solve(problem, {100, 10, 20, 1, 0.5, 0.5, 0.01, 5});
  EXPECT_NEAR(estimate.parts.step(), estimate.step, 1e-12);
}

// Runs of transformers differ by 6.5 %; half of the step answers to collectives that are off by a factor of e.
TEST(Step, says_how_far_off_it_may_be) {
  auto problem = two_buckets(0, 3);
  problem.family = Family::transformer;
  problem.options.anchor = Anchor{.step = 3, .batch = 8};
  const double runs = 1.28155 * 0.065;
  EXPECT_NEAR(solve(problem, {}).relative_error, std::sinh(runs), 1e-6);
  problem.wire_error = std::sinh(1);
  EXPECT_NEAR(solve(problem, {}).relative_error, std::sinh(std::hypot(runs, 0.5)), 0.01);
}

TEST(Step, the_timeline_says_the_same_as_the_estimate) {
  auto problem = two_buckets(1.0, 0.4);
  problem.options.accumulate = 2;
  problem.optimizer = 0.2;
  const auto estimate = solve(problem, {});
  const auto timeline = timeline_of(estimate, "model: test", 2);
  check_timeline(timeline);
  const auto parts = breakdown(timeline);
  EXPECT_NEAR(parts.step(), estimate.step, 1e-9);
  EXPECT_NEAR(parts.comm_exposed, estimate.parts.comm_exposed, 1e-9);
  EXPECT_NEAR(parts.backward, estimate.parts.backward, 1e-9);
}

}  // namespace
}  // namespace gradwire
