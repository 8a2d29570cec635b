// The closed form of a plan's price against the step graph passed task by task, memory against hand arithmetic, and
// what is known of splitting models against what the search finds.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

#include "base/error.h"
#include "predict/parallel/advice.h"
#include "predict/parallel/search.h"
#include "predict/parallel/validation.h"
#include "predict/workload/catalog.h"
#include "sched/step_run.h"
#include "topo/import/machine_file.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

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
  if (chunks > 1) layout.schedule = StageSchedule::interleaved;
  return layout;
}

// The same step as a graph whose tasks last as layer_time() says.
Seconds graph_step(const TransformerSizes& sizes, const PlanProblem& problem, const ParallelValues& values) {
  const auto& layout = problem.layout;
  StepPlan plan;
  plan.mesh = layout.mesh;
  plan.micro_batches = layout.micro_batches;
  plan.virtual_stages = layout.virtual_stages;
  plan.schedule = layout.virtual_stages > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
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

TEST(PlanMemories, hold_a_share_of_what_is_sharded) {
  const auto sizes = transformer_sizes("llama-7b");
  ParallelLayout layout;
  layout.mesh.dp = 8;
  const auto whole = plan_memory(sizes, layout);
  // 6.74 billion parameters: 2 bytes each, 4 of gradient, 12 of state.
  EXPECT_NEAR(whole.weights, 6.738e9 * 2, 1e8);
  EXPECT_NEAR(whole.gradients, 6.738e9 * 4, 1e8);
  EXPECT_NEAR(whole.optimizer, 6.738e9 * 12, 1e8);
  for (layout.shard = 1; layout.shard <= 3; ++layout.shard) {
    const auto memory = plan_memory(sizes, layout);
    EXPECT_DOUBLE_EQ(memory.optimizer, whole.optimizer / 8);
    EXPECT_DOUBLE_EQ(memory.gradients, whole.gradients / (layout.shard >= 2 ? 8 : 1));
    EXPECT_DOUBLE_EQ(memory.weights, whole.weights / (layout.shard >= 3 ? 8 : 1));
  }
}

TEST(PlanMemories, hold_no_second_copy_of_weights_that_are_32_bits_wide) {
  PlanQuestion question;
  question.shape = transformer_sizes("gpt2-xl");
  question.precision = MatmulPrecision::fp32;
  question.batch = 2;
  question.dp = 2;
  const double parameters = parameter_count(question.shape);
  for (question.shard = 0; *question.shard <= 3; ++*question.shard)
    for (const auto& layout : candidate_layouts(question, 2)) {
      const auto memory = plan_memory(question.shape, layout);
      const double shards = *question.shard == 0 ? 1 : 2;
      EXPECT_NEAR(memory.optimizer, parameters * 8 / shards, 0.01 * parameters);
      EXPECT_NEAR(memory.gradients, parameters * 4 / (*question.shard >= 2 ? 2 : 1), 0.01 * parameters);
    }
}

TEST(PlanMemories, keep_activations_as_wide_as_products_take_them) {
  const auto sizes = transformer_sizes("gpt2-xl");
  ParallelLayout layout;
  const double half = layer_activations(sizes, layout);
  layout.precision = MatmulPrecision::fp32;
  EXPECT_DOUBLE_EQ(layer_activations(sizes, layout), 2 * half);
}

TEST(PlanMemories, hold_gradients_of_4_bytes_and_of_2_where_parameters_are_sharded) {
  PlanQuestion question;
  question.shape = transformer_sizes("llama-7b");
  question.dp = 8;
  for (const auto& layout : candidate_layouts(question, 8))
    EXPECT_EQ(layout.gradient_bytes, layout.shard == 3 ? 2 : 4) << layout.shard;
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

// Llama 7B keeps 5 h of norms and masks, 5 h of attention, 3 x 11008 of a gated feed-forward part for each token: 148 kB,
// and 74 % of that without 2 h and one of the three.
TEST(PlanMemories, keep_what_products_give_with_selective_recomputation) {
  const auto sizes = transformer_sizes("llama-7b");
  ParallelLayout layout;
  const double all = layer_activations(sizes, layout);
  EXPECT_NEAR(all, 2048.0 * 2 * (10 * 4096 + 3 * 11008), 1);
  layout.recompute = Recompute::selective;
  EXPECT_NEAR(layer_activations(sizes, layout), 2048.0 * 2 * (8 * 4096 + 2 * 11008), 1);
}

TEST(PlanMemories, keep_less_with_recomputation_and_more_for_every_stage_behind) {
  const auto sizes = transformer_sizes("llama-7b");
  auto layout = pipelined(4, 8);
  const auto deep = plan_memory(sizes, layout).activations;
  layout.recompute = Recompute::full;
  EXPECT_LT(plan_memory(sizes, layout).activations, 0.3 * deep);
  auto shallow = pipelined(4, 1);
  EXPECT_LT(plan_memory(sizes, shallow).activations, deep);
}

PlanAnswer plans_for(const char* model, const char* on, int batch = 0) {
  PlanQuestion question;
  question.shape = transformer_sizes(model);
  question.batch = batch;
  return make_plans(question, find_machine(on));
}

TEST(Plans, keep_tensor_parallelism_inside_nvlink_and_let_the_rest_cross_nodes) {
  for (const char* model : {"gpt3-175b", "llama-70b"}) {
    const auto answer = plans_for(model, "16*dgx-a100@8x-hdr", 1024);
    ASSERT_GT(answer.fitting, 0) << model;
    const auto& best = answer.plans.front().layout.mesh;
    EXPECT_LE(best.tp, 8) << model;
    EXPECT_GT(best.tp * best.pp, 1) << model;
    for (const auto& traffic : answer.plans.front().traffic) {
      if (traffic.what == "tensor parallelism") {
        EXPECT_EQ(traffic.path, "NVLink through NVSwitch");
      }
    }
  }
}

TEST(Plans, let_the_pipeline_cross_nodes_where_tensor_parallelism_does_worse) {
  PlanQuestion question;
  question.shape = transformer_sizes("gpt3-175b");
  question.batch = 512;
  question.dp = 8, question.shard = 1, question.micro_batch = 1, question.virtual_stages = 1;
  question.recompute = Recompute::full;
  question.tp = 16, question.pp = 1;
  const auto machine = find_machine("16*dgx-a100@8x-hdr");
  const auto wide = make_plans(question, machine).plans.front();
  question.tp = 8, question.pp = 2;
  EXPECT_LT(make_plans(question, machine).plans.front().step, wide.step);
}

TEST(Plans, avoid_tensor_parallelism_on_a_box_with_pcie_alone) {
  const auto answer = plans_for("llama-7b", "8x-a100-pcie");
  ASSERT_GT(answer.fitting, 0);
  EXPECT_EQ(answer.plans.front().layout.mesh.tp, 1);
}

TEST(Plans, differ_between_two_bridged_rtx_3090_and_two_without_a_bridge) {
  PlanQuestion question;
  question.shape = transformer_sizes("gpt2-xl");
  question.dp = 2;
  const auto bridged = make_plans(question, find_machine("2x-rtx3090-nvlink"));
  const auto bare = make_plans(question, find_machine("2x-rtx3090-pcie"));
  ASSERT_GT(bridged.fitting, 0);
  EXPECT_LT(bridged.plans.front().step, 0.98 * bare.plans.front().step);
  ASSERT_TRUE(bridged.plans.front().nvlink_speedup.has_value());
  EXPECT_GT(*bridged.plans.front().nvlink_speedup, 1.02);
}

TEST(Plans, say_what_would_make_a_model_fit) {
  const auto answer = plans_for("llama-405b", "dgx-a100");
  EXPECT_EQ(answer.fitting, 0);
  EXPECT_FALSE(answer.plans.front().fits);
  ASSERT_GE(answer.advice.size(), 2u);
  EXPECT_THAT(answer.advice[0], HasSubstr("does not fit"));
  EXPECT_THAT(answer.advice.back(), HasSubstr("it fits"));
}

// Two RTX 3090: three such nodes hold it, which no power of two says.
TEST(Plans, name_the_least_number_of_nodes_that_holds_a_model) {
  PlanQuestion question;
  question.shape = transformer_sizes("llama-7b");
  const auto box = find_machine("2x-rtx3090-pcie");
  EXPECT_EQ(find_fitting_nodes(question, box), 3);
  EXPECT_GT(plans_for("llama-7b", "3*2x-rtx3090-pcie@10gbe").fitting, 0);
  EXPECT_EQ(plans_for("llama-7b", "2*2x-rtx3090-pcie@10gbe").fitting, 0);
  question.shape = transformer_sizes("llama-70b");
  EXPECT_EQ(find_fitting_nodes(question, find_machine("4x-a6000-pcie")), 7);
}

TEST(Plans, send_no_less_than_what_shows_of_it) {
  for (const auto& [model, on, batch] : {std::tuple{"gpt2-xl", "dgx-h100", 2},
                                         {"llama-7b", "2*dgx-a100@hdr", 16},
                                         {"llama-70b", "4*dgx-h100@ndr", 256},
                                         {"mixtral-8x7b", "2*dgx-h100@ndr", 64}})
    for (const auto& plan : plans_for(model, on, batch).plans)
      for (const auto& traffic : plan.traffic)
        EXPECT_LE(traffic.shown, traffic.time) << model << " on " << on << ": " << traffic.what;
}

TEST(Plans, take_what_the_environment_tells_nccl) {
  PlanQuestion question;
  question.shape = transformer_sizes("gpt2-xl");
  question.dp = 2;
  const auto machine = find_machine("2x-rtx3090-nvlink");
  const auto usual = make_plans(question, machine).plans.front();
  EXPECT_EQ(usual.traffic.front().path, "NVLink");
  question.nccl = nccl_settings({{"NCCL_P2P_DISABLE", "1"}});
  const auto told = make_plans(question, machine).plans.front();
  EXPECT_EQ(told.traffic.front().path, "host memory");
  EXPECT_GT(told.step, usual.step);
  EXPECT_NEAR(told.nvlink_speedup.value(), 1, 0.01);
}

TEST(Plans, spread_experts_and_price_what_that_sends) {
  const auto answer = plans_for("mixtral-8x7b", "4*dgx-h100@ndr", 256);
  ASSERT_GT(answer.fitting, 0);
  EXPECT_GT(answer.plans.front().layout.expert_parallel, 1);
  EXPECT_GT(answer.plans.front().parts.expert, 0);
}

// Four rows of a box whose GPUs sit in pairs under switches.
constexpr const char* kPairedBox = R"(
        GPU0    GPU1    GPU2    GPU3    CPU Affinity    NUMA Affinity
GPU0     X      PIX     SYS     SYS     0-19            0
GPU1    PIX      X      SYS     SYS     0-19            0
GPU2    SYS     SYS      X      PIX     20-39           1
GPU3    SYS     SYS     PIX      X      20-39           1
)";

TEST(Plans, say_of_a_matrix_what_bridges_between_its_very_gpus_are_worth) {
  auto node = node_from_matrix(kPairedBox, "box.txt", "rtx3090").node;
  PlanQuestion question;
  question.shape = transformer_sizes("gpt2-xl");
  question.dp = 4, question.shard = 2, question.micro_batch = 1, question.recompute = Recompute::full;
  const auto bare = make_plans(question, build_machine(node)).plans.front();
  node.intra = Intra::nvlink_pairs;
  const auto bridged = make_plans(question, build_machine(node)).plans.front();
  EXPECT_NEAR(bare.nvlink_speedup.value(), bare.step / bridged.step, 1e-9);
  EXPECT_NEAR(bridged.nvlink_speedup.value(), bare.step / bridged.step, 1e-9);
}

TEST(Plans, have_no_worth_of_nvlink_where_nothing_else_joins_the_gpus) {
  for (const char* rack : {"gb200-nvl72", "gb300-nvl72"}) {
    const auto answer = plans_for("llama-7b", rack);
    EXPECT_GT(answer.fitting, 0) << rack;
    EXPECT_FALSE(answer.plans.front().nvlink_speedup.has_value()) << rack;
  }
}

TEST(Plans, refuse_sizes_that_do_not_divide) {
  PlanQuestion question;
  question.shape = transformer_sizes("llama-7b");
  const auto machine = find_machine("dgx-a100");
  question.tp = 3;
  EXPECT_THROW(make_plans(question, machine), ConfigError);
  question.tp = 8, question.pp = 8;
  EXPECT_THROW(make_plans(question, machine), ConfigError);
}

TEST(ParallelConstants, ship_as_the_fit_of_the_runs_that_are_carried) {
  const auto cases = parallel_cases(built_in_parallel_records());
  const auto known = learnable(cases.cases);
  const auto& model = default_parallel_model();
  const auto fit = fit_parallel(known, model, model.prior_values(), 25);
  for (int i = 0; i < kParallelConstants; ++i)
    EXPECT_NEAR(std::log(fit.values[static_cast<std::size_t>(i)] / model.values[static_cast<std::size_t>(i)]),
                0, 0.05)
        << name_of(static_cast<ParallelConstant>(i)) << " of\n"
        << parallel_yaml(fit, model);
}

TEST(ParallelConstants, follow_a_run_that_was_measured_as_far_as_they_are_uncertain) {
  const auto cases = parallel_cases(built_in_parallel_records());
  const auto fit =
      fit_parallel(learnable(cases.cases), default_parallel_model(), default_parallel_model().values, 2);
  auto slow = cases.cases.front();
  const Seconds predicted = price_plan(slow.problem, fit.values).total();
  slow.measured = predicted * 1.5;
  EXPECT_GT(step_given(slow, slow, fit), predicted * 1.3);
  EXPECT_LT(step_given(slow, slow, fit), predicted * 1.5);
  slow.quality = Quality::weak;
  EXPECT_LT(step_given(slow, slow, fit), predicted * 1.4);
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

TEST(TransformerSizesOf, have_the_parameters_of_the_model_of_that_name) {
  for (const auto& model : all_models()) {
    const auto shape = find_transformer(model.name);
    if (!shape) continue;
    // Norms of heads, poolers and tables of types are left out of a shape: a thousandth at most.
    EXPECT_NEAR(parameter_count(*shape) / double(model.parameters), 1, 6e-3) << model.name;
    EXPECT_NO_THROW(check_sizes(*shape));
  }
}

TEST(TransformerSizesOf, count_what_a_token_takes_of_a_mixture_of_experts) {
  // Mixtral 8x7B: 46.7 billion, of which a token uses 12.9 (Jiang et al. 2024).
  EXPECT_NEAR(active_parameter_count(transformer_sizes("mixtral-8x7b")) / 12.9e9, 1, 0.01);
  EXPECT_NEAR(active_parameter_count(transformer_sizes("qwen3-235b-a22b")) / 22e9, 1, 0.02);
  EXPECT_EQ(active_parameter_count(transformer_sizes("llama-7b")),
            parameter_count(transformer_sizes("llama-7b")));
}

}  // namespace
}  // namespace gradwire
