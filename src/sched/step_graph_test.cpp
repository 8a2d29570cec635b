// Every graph is proved by verify(); times are checked by hand; broken graphs are rejected by the name of the fault.
#include "sched/step_graph.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <string>

#include "base/error.h"
#include "sched/ddp_step.h"
#include "sched/step_run.h"
#include "sched/step_verify.h"

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::StartsWith;

// Chunks of three units each, which meet twice a forward where tensor parallelism cuts them.
std::vector<ChunkCut> three_units(int chunks) {
  return std::vector<ChunkCut>(static_cast<std::size_t>(chunks),
                               {.units = {100, 200, 300}, .output = 64, .meetings = 2, .meeting_bytes = 32});
}

StepGraph graph_of(const StepPlan& plan) {
  return make_step_graph(plan, three_units(plan.mesh.pp * plan.virtual_stages));
}

StepPlan pipeline_plan(PipelineSchedule schedule, int stages, int micro_batches, int virtual_stages = 1) {
  StepPlan plan;
  plan.mesh.pp = stages;
  plan.schedule = schedule;
  plan.micro_batches = micro_batches;
  plan.virtual_stages = virtual_stages;
  plan.by_unit = false;
  return plan;
}

// A chunk takes 1 / v forward and 2 / v backward, messages nothing.
Seconds step_of(const StepGraph& graph) {
  const double piece = 1.0 / graph.pipeline.virtual_stages;
  return run_step(graph,
                  [&](Rank, const Task& task) {
                    return task.kind == TaskKind::forward    ? piece
                           : task.kind == TaskKind::backward ? 2 * piece
                                                             : 0.0;
                  })
      .end;
}

std::string fault_in(const StepGraph& graph) {
  try {
    verify(graph);
  } catch (const Error& fault) {
    return fault.what();
  }
  return "none";
}

int find_task(const std::vector<Task>& tasks, TaskKind kind, int which = 0) {
  for (std::size_t i = 0; i < tasks.size(); ++i)
    if (tasks[i].kind == kind && which-- == 0) return static_cast<int>(i);
  throw std::logic_error("no such task");
}

TEST(MeshOrder, puts_tensor_ranks_next_to_each_other_and_stages_far_apart) {
  const Mesh mesh{.dp = 2, .tp = 2, .pp = 2};
  EXPECT_EQ(rank_at(mesh, {.data = 1, .tensor = 1, .pipeline = 1}), 7);
  EXPECT_EQ(place_of(mesh, 5), (MeshPlace{.data = 0, .tensor = 1, .pipeline = 1}));
  EXPECT_THAT(group_of(mesh, MeshDimension::tensor, 3), ElementsAre(2, 3));
  EXPECT_THAT(group_of(mesh, MeshDimension::data, 3), ElementsAre(1, 3));
  EXPECT_THAT(group_of(mesh, MeshDimension::pipeline, 3), ElementsAre(3, 7));
}

TEST(MeshOrder, gives_every_rank_a_place_and_one_group_in_every_dimension) {
  for (const Mesh& mesh : {Mesh{3, 2, 4, 1}, Mesh{1, 8, 2, 1}, Mesh{2, 2, 2, 3}}) {
    for (Rank rank = 0; rank < mesh.ranks(); ++rank) EXPECT_EQ(rank_at(mesh, place_of(mesh, rank)), rank);
    for (const auto dimension : {MeshDimension::tensor, MeshDimension::context, MeshDimension::data,
                                 MeshDimension::pipeline, MeshDimension::replica}) {
      std::vector<int> seen(static_cast<std::size_t>(mesh.ranks()));
      for (const auto& group : groups_of(mesh, dimension))
        for (const auto rank : group) ++seen[static_cast<std::size_t>(rank)];
      EXPECT_THAT(seen, testing::Each(1)) << to_string(mesh) << " " << name_of(dimension);
    }
  }
}

TEST(MeshOrder, refuses_what_can_not_be) {
  EXPECT_THROW(check_mesh({.dp = 0}), ConfigError);
  EXPECT_THROW(check_mesh({.dp = 1 << 20, .tp = 1 << 20}), ConfigError);
  EXPECT_THROW(check_mesh({.dp = 2, .tp = 2}, 8), ConfigError);
  EXPECT_THROW(place_of({.dp = 2}, 2), ConfigError);
}

TEST(StageOrder, makes_a_backward_after_each_forward_when_the_pipeline_is_full) {
  // Stage 0 of 3 makes 2 forwards ahead, the last none.
  const PipelineShape shape{PipelineSchedule::one_f_one_b, 3, 3};
  std::string first, last;
  for (const auto& work : stage_order(shape, 0))
    first += (work.forward ? 'F' : 'B') + std::to_string(work.micro_batch);
  for (const auto& work : stage_order(shape, 2))
    last += (work.forward ? 'F' : 'B') + std::to_string(work.micro_batch);
  EXPECT_EQ(first, "F0F1F2B0B1B2");
  EXPECT_EQ(last, "F0B0F1B1F2B2");
}

TEST(StageOrder, refuses_chunks_and_micro_batches_that_do_not_fit) {
  EXPECT_THROW(stage_order({PipelineSchedule::one_f_one_b, 2, 2, 2}, 0), ConfigError);
  EXPECT_THROW(stage_order({PipelineSchedule::interleaved, 4, 6, 2}, 0), ConfigError);
  EXPECT_THROW(parse_pipeline_schedule("2f2b"), ConfigError);
  EXPECT_THROW(parse_pipeline_schedule("zb1p"), ConfigError);  // which is predicted alone
  EXPECT_THROW(stage_order({PipelineSchedule::zb2p, 2, 2}, 0), ConfigError);
}

TEST(StepGraphs, of_a_pipeline_have_the_bubble_of_the_formula) {
  // 4 stages, 8 micro-batches, 3 each: 24 of work, 3 stages to fill and drain at 3: 33, of which 9 idle.
  for (const auto schedule : {PipelineSchedule::gpipe, PipelineSchedule::one_f_one_b}) {
    const auto graph = graph_of(pipeline_plan(schedule, 4, 8));
    EXPECT_DOUBLE_EQ(step_of(graph), 33);
    EXPECT_DOUBLE_EQ(1 - 24 / step_of(graph), bubble_share(graph.pipeline));
    EXPECT_DOUBLE_EQ(bubble_share(graph.pipeline), 3.0 / 11);
  }
  // Two chunks a stage halve what it takes to fill: 24 + 4.5.
  const auto graph = graph_of(pipeline_plan(PipelineSchedule::interleaved, 4, 8, 2));
  EXPECT_DOUBLE_EQ(step_of(graph), 28.5);
  EXPECT_DOUBLE_EQ(1 - 24 / step_of(graph), bubble_share(graph.pipeline));
}

TEST(StepGraphs, of_a_pipeline_have_that_bubble_for_any_number_of_stages_and_micro_batches) {
  for (int stages = 1; stages <= 6; ++stages)
    for (int rounds = 1; rounds <= 3; ++rounds)
      for (int chunks = 1; chunks <= 3; ++chunks) {
        const int micro_batches = stages * rounds;
        const auto plan = chunks == 1
                              ? pipeline_plan(PipelineSchedule::one_f_one_b, stages, micro_batches)
                              : pipeline_plan(PipelineSchedule::interleaved, stages, micro_batches, chunks);
        const auto graph = graph_of(plan);
        EXPECT_EQ(fault_in(graph), "none");
        EXPECT_NEAR(step_of(graph), 3.0 * micro_batches + 3.0 * (stages - 1) / chunks, 1e-9)
            << stages << " stages, " << micro_batches << " micro-batches, " << chunks << " chunks";
      }
}

TEST(StepGraphs, are_right_for_every_combination_of_eight_ranks) {
  for (int tp = 1; tp <= 8; tp *= 2)
    for (int pp = 1; tp * pp <= 8; pp *= 2)
      for (int shard = 0; shard <= 3; ++shard)
        for (const bool by_unit : {false, true})
          for (const int micro_batches : {1, 4, 8}) {
            StepPlan plan;
            plan.mesh = {.dp = 8 / tp / pp, .tp = tp, .pp = pp};
            plan.shard = shard;
            plan.by_unit = by_unit;
            plan.micro_batches = micro_batches;
            plan.recompute = shard == 3;
            EXPECT_EQ(fault_in(graph_of(plan)), "none") << to_string(plan.mesh) << " shard " << shard;
          }
}

TEST(StepGraphs, join_gradients_once_a_step_unless_they_are_sharded) {
  const auto count = [](int shard, Collective collective) {
    StepPlan plan;
    plan.mesh.dp = 2;
    plan.shard = shard;
    plan.micro_batches = 4;
    int found = 0;
    const auto graph = graph_of(plan);
    for (const auto& task : graph.ranks[0])
      found += task.kind == TaskKind::collective && task.collective == collective;
    return found;
  };
  EXPECT_EQ(count(0, Collective::all_reduce), 3);
  EXPECT_EQ(count(1, Collective::reduce_scatter), 3);
  EXPECT_EQ(count(1, Collective::all_gather), 3);
  EXPECT_EQ(count(2, Collective::reduce_scatter), 12);
  EXPECT_EQ(count(3, Collective::reduce_scatter), 12);
  // Two of three units stay: forward gathers the last, backward the first, and the first forward all.
  EXPECT_EQ(count(3, Collective::all_gather), 4 * 2 + 2);
}

TEST(StepGraphs, that_are_broken_are_refused_by_the_name_of_the_fault) {
  const auto ddp = ddp_step_graph(2, std::vector<Bucket>{{{}, 20}, {{}, 10}}, 2);
  auto early = ddp;  // the bucket leaves before its gradient is made
  for (auto& tasks : early.ranks)
    tasks[static_cast<std::size_t>(find_task(tasks, TaskKind::collective))].after = {0};
  EXPECT_THAT(fault_in(early), StartsWith("incomplete gradient: "));
  auto unjoined = ddp;  // nobody waits for the last bucket
  for (auto& tasks : unjoined.ranks) tasks.back().after = {find_task(tasks, TaskKind::collective)};
  EXPECT_THAT(fault_in(unjoined), StartsWith("incomplete gradient: "));
  auto absent = ddp;
  absent.ranks[1].pop_back();
  absent.ranks[1].pop_back();
  EXPECT_THAT(fault_in(absent), HasSubstr("never joins"));
  auto swapped = ddp;
  swapped.ranks[1][static_cast<std::size_t>(find_task(swapped.ranks[1], TaskKind::collective))].bytes = 11;
  EXPECT_THAT(fault_in(swapped), StartsWith("mismatch: "));
  auto circle = ddp;
  circle.ranks[0][2].after = {5};
  EXPECT_THAT(fault_in(circle), StartsWith("malformed: "));
}

TEST(StepGraphs, whose_stages_wait_for_each_other_are_stuck) {
  auto graph = graph_of(pipeline_plan(PipelineSchedule::one_f_one_b, 2, 2));
  // Stage 0 sends its activations only after it has received the gradient of them.
  auto& tasks = graph.ranks[0];
  const auto send = static_cast<std::size_t>(find_task(tasks, TaskKind::send));
  const auto recv = static_cast<std::size_t>(find_task(tasks, TaskKind::recv));
  auto late = tasks[send];
  tasks.erase(tasks.begin() + static_cast<long>(send));
  for (auto& task : tasks)
    for (auto& before : task.after) before -= before > static_cast<int>(send);
  late.after = {static_cast<int>(recv) - 1};
  tasks.push_back(late);
  EXPECT_THAT(fault_in(graph), testing::AnyOf(StartsWith("stuck: "), StartsWith("mismatch: ")));
}

TEST(StepGraphs, whose_groups_are_used_in_different_orders_are_stuck_where_collectives_share_a_lane) {
  StepGraph graph;
  graph.mesh = {.dp = 2};
  graph.groups = {{0, 1}, {0, 1}};
  const Task a{.kind = TaskKind::collective, .data = TaskData::gradient, .unit = 0, .group = 0, .after = {}};
  auto b = a;
  b.group = 1;
  graph.ranks = {{a, b}, {b, a}};
  const auto at_once = [](Rank, const Task&) { return 0.0; };
  EXPECT_NO_THROW(run_step(graph, at_once));
  EXPECT_THROW(run_step(graph, at_once, StepLanes::one_for_collectives), Error);
}

// Collectives of 2 s beside a forward of 3 s, on processors that do both.
TEST(StepGraphs, compute_at_the_pace_that_communication_leaves) {
  const auto end_with = [](int collectives, double share) {
    StepGraph graph;
    graph.mesh = {.dp = 2};
    std::vector<Task> tasks;
    for (int i = 0; i < collectives; ++i) {
      graph.groups.push_back({0, 1});
      tasks.push_back({.kind = TaskKind::collective, .group = i, .after = {}});
    }
    tasks.push_back({.kind = TaskKind::forward, .after = {}});
    graph.ranks = {tasks, tasks};
    const auto duration = [](Rank, const Task& task) { return task.kind == TaskKind::forward ? 3.0 : 2.0; };
    return run_step(graph, duration, StepLanes::by_group, [=](Rank, const Task&) { return share; }).end;
  };
  EXPECT_DOUBLE_EQ(end_with(1, 0), 3);
  EXPECT_DOUBLE_EQ(end_with(1, 0.5), 2 + 2) << "1 s of 3 is done under it";
  EXPECT_DOUBLE_EQ(end_with(1, 1), 2 + 3);
  EXPECT_DOUBLE_EQ(end_with(2, 0.25), 2 + 2);
  EXPECT_DOUBLE_EQ(end_with(2, 0.75), 3 + 3) << "two that need 1.5 processors take half as long again";
}

TEST(StepGraphs, that_lose_a_message_or_a_gather_are_refused) {
  auto pipeline = graph_of(pipeline_plan(PipelineSchedule::gpipe, 2, 2));
  auto& second = pipeline.ranks[1];
  second[static_cast<std::size_t>(find_task(second, TaskKind::forward, 1))].after.clear();
  EXPECT_THAT(fault_in(pipeline), StartsWith("missing activation: "));
  StepPlan plan;
  plan.mesh.dp = 2;
  plan.shard = 3;
  auto sharded = graph_of(plan);
  for (auto& tasks : sharded.ranks)
    tasks[static_cast<std::size_t>(find_task(tasks, TaskKind::forward, 1))].after.clear();
  EXPECT_THAT(fault_in(sharded), StartsWith("missing parameters: "));
}

// The third gather takes the buffer of the first unit, while that is in use.
TEST(StepGraphs, that_gather_into_a_buffer_in_use_are_refused) {
  StepPlan plan;
  plan.mesh.dp = 2;
  plan.shard = 3;
  auto graph = graph_of(plan);
  for (auto& tasks : graph.ranks) {
    const auto third = static_cast<std::size_t>(find_task(tasks, TaskKind::collective, 2));
    EXPECT_EQ(tasks[third].slot, 0);
    tasks[third].after.clear();
  }
  EXPECT_THAT(fault_in(graph), HasSubstr("finds unit 0 replaced by the all_gather of the parameters"));
}

TEST(StepGraphs, refuse_plans_that_can_not_be) {
  EXPECT_THROW(make_step_graph({}, {}), ConfigError);
  EXPECT_THROW(make_step_graph({}, {ChunkCut{}}), ConfigError);
  StepPlan plan;
  plan.shard = 4;
  EXPECT_THROW(make_step_graph(plan, three_units(1)), ConfigError);
}

}  // namespace
}  // namespace gradwire
