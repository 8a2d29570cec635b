// The closed form of a plan's price against the step graph passed task by task.
#include "predict/parallel/price.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "predict/parallel/problem.h"
#include "sched/step_graph.h"
#include "sched/step_run.h"

namespace gradwire {
namespace {

// Constants that leave compute alone: nothing is hidden, nothing added.
ParallelValues bare_values() {
  auto values = default_parallel_model().values;
  const auto set = [&](ParallelConstant constant, double value) {
    values[static_cast<std::size_t>(constant)] = value;
  };
  set(ParallelConstant::micro, 0);
  set(ParallelConstant::spread, 0);
  set(ParallelConstant::update, 0);
  set(ParallelConstant::output, 0);
  set(ParallelConstant::stage, 0);
  set(ParallelConstant::slowdown, 0);
  return values;
}

ParallelLayout pipelined(int stages, int micro_batches, int chunks = 1) {
  ParallelLayout layout;
  layout.mesh.pp = stages;
  layout.micro_batches = micro_batches;
  layout.virtual_stages = chunks;
  if (chunks > 1) layout.schedule = PipelineSchedule::interleaved;
  return layout;
}

// The same step as a graph whose tasks last as layer_time() says.
Seconds graph_step(const TransformerSizes& sizes, const PlanProblem& problem, const ParallelValues& values) {
  const auto& layout = problem.layout;
  StepPlan plan;
  plan.mesh = layout.mesh;
  plan.micro_batches = layout.micro_batches;
  plan.virtual_stages = layout.virtual_stages;
  plan.schedule = layout.schedule;
  plan.by_unit = false;
  const int chunks = layout.mesh.pp * layout.virtual_stages;
  const double layers = double(sizes.layers) / chunks;
  const auto time = layer_time(problem, values);
  const auto graph = make_step_graph(
      plan, std::vector<ChunkCut>(static_cast<std::size_t>(chunks), {.units = {1}, .output = 1}));
  return run_step(graph,
                  [&](Rank, const Task& task) {
                    if (task.kind == TaskKind::forward) return layers * time.forward;
                    if (task.kind == TaskKind::backward) return layers * time.backward;
                    return task.kind == TaskKind::collective ? problem.wires.join : 0.0;
                  })
      .end;
}

TEST(PlanPrice, is_that_of_the_step_graph_passed_task_by_task) {
  const auto machine = find_machine("dgx-a100");
  GroupWires wires(machine);
  auto sizes = transformer_sizes("llama-7b");
  sizes.vocab = 1;  // the output layer has no part in a graph of equal stages
  const auto values = bare_values();
  for (const auto& [stages, micro_batches, chunks] :
       {std::tuple{1, 4, 1}, {2, 2, 1}, {4, 8, 1}, {8, 8, 1}, {4, 8, 2}, {8, 16, 4}, {2, 6, 2}}) {
    const auto problem = make_problem(sizes, pipelined(stages, micro_batches, chunks), wires);
    EXPECT_NEAR(price_plan(problem, values).total() / graph_step(sizes, problem, values), 1, 1e-3)
        << stages << " stages, " << micro_batches << " micro-batches, " << chunks << " chunks";
  }
}

// What a sharded step's collectives take, layer by layer.
Seconds collective_time(const Task& task, const PlanProblem& problem, double layers) {
  const auto& wires = problem.wires;
  if (task.data == TaskData::gradient)
    return (problem.layout.shard < 2 ? wires.join : wires.scatter) / layers;
  return (problem.layout.shard < 3 ? wires.spread : wires.gather_forward) / layers;
}

// The graph is the one that ShardedDataParallel executes. It differs from the closed form by the ends of passes: the first
// gather and the last reduction show, and a unit or two that are still whole are not gathered.
TEST(PlanPrice, of_sharding_is_that_of_the_step_graph_but_for_a_few_layers) {
  const auto machine = find_machine("dgx-a100");
  GroupWires wires(machine);
  auto sizes = transformer_sizes("gpt3-175b");
  sizes.vocab = 1;
  auto values = bare_values();
  values[static_cast<std::size_t>(ParallelConstant::hiding)] = 1;
  for (const int shard : {0, 1, 2, 3})
    for (const auto& [micro_batches, slower] : {std::pair{1, 1.0}, {3, 1.0}, {1, 20.0}}) {
      ParallelLayout layout{.mesh = {.dp = 8}, .shard = shard};
      layout.micro_batches = micro_batches;
      auto problem = make_problem(sizes, layout, wires);
      for (auto* const time : {&problem.wires.join, &problem.wires.spread, &problem.wires.scatter,
                               &problem.wires.gather_forward, &problem.wires.gather_backward})
        *time *= slower;
      const auto layer = layer_time(problem, values);
      StepPlan plan;
      plan.mesh = layout.mesh;
      plan.micro_batches = micro_batches;
      plan.shard = shard;
      const auto layers = static_cast<std::size_t>(sizes.layers);
      const auto graph = make_step_graph(plan, {{.units = std::vector<Bytes>(layers, 1)}});
      Seconds longest = 0;
      const auto run = run_step(graph, [&](Rank, const Task& task) {
        if (task.kind == TaskKind::forward) return layer.forward;
        if (task.kind == TaskKind::backward) return layer.backward;
        const Seconds time = task.kind == TaskKind::collective
                                 ? collective_time(task, problem, static_cast<double>(layers))
                                 : 0;
        longest = std::max(longest, time);
        return time;
      });
      EXPECT_NEAR(price_plan(problem, values).total(), run.end, 3 * micro_batches * longest)
          << "shard " << shard << ", " << micro_batches << " micro-batches, links " << slower << "x slower";
    }
}

TEST(PlanPrice, adds_what_tensor_parallelism_sends_and_what_joining_gradients_shows) {
  const auto machine = find_machine("dgx-a100");
  GroupWires wires(machine);
  const auto sizes = transformer_sizes("llama-7b");
  ParallelLayout layout;
  layout.mesh.tp = 8;
  const auto split = price_plan(make_problem(sizes, layout, wires), default_parallel_model().values);
  EXPECT_GT(split.tensor, 0);
  layout.mesh = {.dp = 8};
  const auto joined = price_plan(make_problem(sizes, layout, wires), default_parallel_model().values);
  EXPECT_EQ(joined.tensor, 0);
  EXPECT_GT(joined.replicas + joined.slowdown, 0);
  layout.overlap = false;
  EXPECT_GT(price_plan(make_problem(sizes, layout, wires), default_parallel_model().values).replicas,
            joined.replicas);
}

// Of 16 micro-batches 16 messages leave the first stage, one after another.
TEST(PlanPrice, of_a_pipeline_is_no_less_than_what_its_slowest_wire_takes_one_way) {
  const auto machine = find_machine("2*dgx-h100@1gbe");
  GroupWires wires(machine);
  auto layout = pipelined(2, 16);
  layout.mesh.dp = 8;
  const auto problem = make_problem(transformer_sizes("llama-7b"), layout, wires);
  const auto values = default_parallel_model().values;
  const auto parts = price_plan(problem, values);
  EXPECT_GT(16 * problem.wires.message, parts.compute + parts.bubble) << "the wire is the bottleneck";
  EXPECT_GE(parts.total(), 16 * problem.wires.message);
  EXPECT_LE(parts.messages, message_time(problem));
}

TEST(PlanPrice, of_full_recomputation_is_a_forward_more) {
  const auto machine = find_machine("dgx-a100");
  GroupWires wires(machine);
  const auto sizes = transformer_sizes("llama-7b");
  ParallelLayout layout;
  const auto values = bare_values();
  const auto plain = layer_time(make_problem(sizes, layout, wires), values);
  layout.recompute = Recompute::full;
  const auto again = layer_time(make_problem(sizes, layout, wires), values);
  EXPECT_DOUBLE_EQ(again.backward, plain.backward + plain.forward);
}

TEST(PlanPrice, of_selective_recomputation_is_attention_once_more) {
  const auto machine = find_machine("dgx-a100");
  GroupWires wires(machine);
  const auto sizes = transformer_sizes("llama-7b");
  ParallelLayout layout;
  const auto plain = layer_time(make_problem(sizes, layout, wires), bare_values());
  layout.recompute = Recompute::selective;
  const auto again = layer_time(make_problem(sizes, layout, wires), bare_values());
  EXPECT_GT(again.backward, plain.backward);
  EXPECT_LT(again.backward, plain.backward + 0.3 * plain.forward);
}

TEST(PlanPrice, gathers_tensor_by_tensor_where_parameters_are_sharded_and_nothing_goes_on_under_compute) {
  const auto machine = find_machine("16*dgx-a100@8x-hdr");
  GroupWires wires(machine);
  ParallelLayout layout{.mesh = {.dp = 128}, .shard = 3};
  const auto sizes = transformer_sizes("gpt3-175b");
  const Seconds by_layer = make_problem(sizes, layout, wires).wires.gather_forward;
  layout.overlap = false;
  EXPECT_GT(make_problem(sizes, layout, wires).wires.gather_forward, 1.5 * by_layer);
}

// A layer of 1.81 billion parameters, of which a billion are used between its second forward and its backward for those in
// the last 500 million: 1 - 1 / (2 * 1.81) = 0.72 of it is gathered twice in backward.
TEST(PlanPrice, gathers_once_more_what_a_second_forward_has_released) {
  const auto machine = find_machine("2*dgx-a100@8x-hdr");
  GroupWires wires(machine);
  ParallelLayout layout{.mesh = {.dp = 16}, .shard = 3, .recompute = Recompute::full};
  const auto backward_over_forward = [&] {
    const auto made = make_problem(transformer_sizes("gpt3-175b"), layout, wires).wires;
    return made.gather_backward / made.gather_forward;
  };
  EXPECT_DOUBLE_EQ(backward_over_forward(), 1) << "nothing is released";
  layout.kept_parameters = 1e9;
  EXPECT_NEAR(backward_over_forward(), 1.72, 0.01);
  layout.recompute = Recompute::none;
  EXPECT_DOUBLE_EQ(backward_over_forward(), 1) << "backward comes once";
}

TEST(PlanPrice, of_whole_tensors_grows_with_the_ranks_that_each_of_their_broadcasts_passes) {
  const auto spread = [](int nodes, bool whole) {
    const auto machine =
        find_machine(nodes == 1 ? "dgx-a100" : fmt::format("{}*dgx-a100@4x-roce-100", nodes));
    GroupWires wires(machine);
    ParallelLayout layout{.mesh = {.dp = 8 * nodes}, .shard = 1};
    layout.whole_tensors = whole;
    const auto made = make_problem(transformer_sizes("llama-7b"), layout, wires).wires;
    layout.shard = 0;
    const Seconds to_all = make_problem(transformer_sizes("llama-7b"), layout, wires).wires.join;
    EXPECT_EQ(made.join == to_all, whole) << "no rank alone gets a sum";
    return made.spread;
  };
  EXPECT_NEAR(spread(1, true) / spread(1, false), 1, 0.2);
  EXPECT_GT(spread(64, true), 2 * spread(64, false));
}

// Over NVSwitch a forward of a 7-billion model is longer than its parameters' gather.
TEST(PlanPrice, shows_all_of_a_gather_after_an_update_that_no_forward_hides) {
  const auto machine = find_machine("dgx-a100");
  GroupWires wires(machine);
  ParallelLayout layout{.mesh = {.dp = 8}, .shard = 1, .micro_batch = 4};
  const auto sizes = transformer_sizes("llama-7b");
  const auto hidden = make_problem(sizes, layout, wires);
  layout.overlap_update = false;
  const auto shown = make_problem(sizes, layout, wires);
  ASSERT_GT(shown.wires.spread, 0);
  EXPECT_NEAR(price_plan(shown, bare_values()).total() - price_plan(hidden, bare_values()).total(),
              shown.wires.spread, 1e-9);
}

}  // namespace
}  // namespace gradwire
