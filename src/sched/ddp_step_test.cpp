#include "sched/ddp_step.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "sched/step_execution.h"
#include "sched/step_verify.h"

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

std::vector<Bucket> three_buckets() { return {{{}, 10}, {{}, 20}, {{}, 30}}; }

std::vector<int> buckets_sent(const StepGraph& graph, Rank rank) {
  std::vector<int> sent;
  for (const Task& task : graph.ranks[static_cast<std::size_t>(rank)])
    if (task.kind == TaskKind::collective) sent.push_back(bucket_of(task, 3));
  return sent;
}

TEST(DdpStep, sends_every_bucket_once_in_their_order_after_the_last_micro_batch) {
  for (const int ranks : {1, 2, 3, 8})
    for (const int accumulate : {1, 2, 4}) {
      const auto graph = ddp_step_graph(ranks, three_buckets(), accumulate);
      EXPECT_NO_THROW(verify(graph));
      for (Rank rank = 0; rank < ranks; ++rank) EXPECT_THAT(buckets_sent(graph, rank), ElementsAre(0, 1, 2));
      EXPECT_EQ(graph.ranks.front(), graph.ranks.back()) << "ranks are alike";
    }
}

// Forward 3 s, three buckets of 1 s backward each and 1 s on the wire: the last bucket alone shows.
TEST(DdpStep, sends_a_bucket_under_the_backward_of_the_next) {
  const auto graph = ddp_step_graph(4, three_buckets());
  const auto run =
      run_step(graph, [](Rank, const Task& task) { return task.kind == TaskKind::update ? 0.0 : 1.0; });
  EXPECT_DOUBLE_EQ(run.end, 3 + 3 + 1);
}

Seconds a_second(Rank, const Task&) { return 1; }

TEST(StepExecution, is_every_run_of_a_graph) {
  for (const int accumulate : {1, 3}) {
    const auto graph = ddp_step_graph(3, three_buckets(), accumulate);
    EXPECT_EQ(why_no_execution(graph, run_step(graph, a_second)), "");
  }
  StepPlan plan;
  plan.mesh = {.dp = 2, .tp = 1, .pp = 2};
  plan.micro_batches = 4;
  plan.shard = 2;
  const auto pipeline = make_step_graph(plan, std::vector<ChunkCut>(2, {.units = {1, 2}, .output = 8}));
  EXPECT_EQ(why_no_execution(pipeline, run_step(pipeline, a_second)), "");
}

// Bucket 1 is complete before bucket 0; both leave after that, in their order.
TEST(StepExecution, leaves_the_order_within_a_backward_to_whoever_computes) {
  const auto graph = ddp_step_graph(2, std::vector<Bucket>(2));
  auto run = unseen_run(graph);
  for (auto& times : run.ranks)
    for (std::size_t i = 0; i < times.size(); ++i) {
      const Task& task = graph.ranks[0][i];
      const int bucket = bucket_of(task, 2);
      if (task.kind == TaskKind::forward) times[i] = {0, 1};
      if (task.kind == TaskKind::backward) times[i] = {1, bucket == 0 ? 3.0 : 2.0};
      if (task.kind == TaskKind::collective) times[i] = {3.0 + bucket, 4.0 + bucket};
      if (task.kind == TaskKind::update) times[i] = {5, 6};
    }
  EXPECT_EQ(why_no_execution(graph, run), "");
}

// Each task of a rank in turn: not done, too early, or without the others.
TEST(StepExecution, is_refused_wherever_a_task_is_missing_or_early) {
  const auto graph = ddp_step_graph(2, three_buckets(), 2);
  const auto run = run_step(graph, a_second);
  for (std::size_t i = 0; i < graph.ranks[1].size(); ++i) {
    auto missing = run;
    missing.ranks[1][i] = unseen_run(graph).ranks[1][i];
    EXPECT_THAT(why_no_execution(graph, missing), HasSubstr("it was never done"));
    const Task& task = graph.ranks[1][i];
    if (task.after.empty()) continue;
    auto early = run;
    early.ranks[1][i].begin -= 0.5;
    EXPECT_THAT(why_no_execution(graph, early), HasSubstr("it began before the ")) << describe(task);
    if (task.kind != TaskKind::collective) continue;
    auto alone = run;
    for (std::size_t later = i; later < graph.ranks[1].size(); ++later) {
      alone.ranks[1][later].begin += 10;
      alone.ranks[1][later].end += 10;
    }
    EXPECT_THAT(why_no_execution(graph, alone), HasSubstr("a rank had done it before another began"));
  }
}

}  // namespace
}  // namespace gradwire
