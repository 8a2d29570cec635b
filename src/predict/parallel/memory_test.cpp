// What all GPUs hold together is no less than what a model needs, however it is split.
#include "predict/parallel/memory.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

#include "predict/parallel/candidates.h"
#include "predict/parallel/problem.h"
#include "topo/machine.h"

namespace gradwire {
namespace {

constexpr int kPlans = 5000;

class RandomPlans {
 public:
  // Nothing of it is computed again or sent to the host: memory of weights, gradients and states is all of it.
  ParallelLayout next(const TransformerSizes& shape) {
    ParallelLayout layout;
    layout.mesh = {.dp = power(6), .tp = power(4), .pp = power(4), .cp = power(2)};
    layout.mesh.pp = std::min(layout.mesh.pp, shape.layers);
    layout.shard = number(0, 3);
    layout.precision = number(0, 1) ? Precision::bf16 : Precision::fp32;
    layout.gradient_bytes = number(0, 1) ? 4 : 2;
    layout.state_bytes = adam_bytes(layout.precision);
    const int ranks = layout.replicas() * layout.mesh.tp;
    do layout.expert_parallel = shape.moe() ? power(7) : 1;
    while (ranks % layout.expert_parallel != 0 || shape.experts % layout.expert_parallel != 0);
    return layout;
  }

  int number(int least, int most) { return std::uniform_int_distribution(least, most)(draw_); }

 private:
  int power(int most) { return 1 << number(0, most); }
  std::mt19937 draw_{14};
};

TEST(PlanMemories, of_all_gpus_hold_every_parameter_with_its_gradient_and_state) {
  RandomPlans plans;
  const std::array shapes{transformer_sizes("mixtral-8x7b"), transformer_sizes("qwen3-235b-a22b"),
                          transformer_sizes("gpt2-xl")};
  for (int i = 0; i < kPlans; ++i) {
    const auto& shape = shapes[i % shapes.size()];
    const auto layout = plans.next(shape);
    const auto memory = plan_memory(shape, layout);
    const double needed = number_bytes(layout.precision) + layout.gradient_bytes + layout.state_bytes;
    EXPECT_GE((memory.weights + memory.gradients + memory.optimizer) * layout.ranks(),
              parameter_count(shape) * needed * (1 - 1e-12))
        << shape.name << " " << describe(layout);
  }
}

TEST(PlanProblem, updates_every_parameter_of_a_mixture_somewhere) {
  const auto machine = find_machine("dgx-h100");
  GroupWires wires(machine);
  const auto shape = transformer_sizes("mixtral-8x7b");
  ParallelLayout layout;
  for (const auto& [dp, tp, ep] : {std::tuple{8, 1, 8}, {8, 1, 1}, {4, 2, 8}, {2, 4, 2}, {1, 8, 1}})
    for (layout.shard = 0; layout.shard <= 3; ++layout.shard) {
      layout.mesh = {.dp = dp, .tp = tp};
      layout.expert_parallel = ep;
      const auto problem = make_problem(shape, layout, wires);
      EXPECT_GE(problem.updated * layout.ranks(), 0.999 * parameter_count(shape)) << describe(layout);
    }
}

// Mixtral: 46.7 billion parameters, 45.1 of them in experts. 16 bytes each are 747 GB.
TEST(PlanMemories, share_out_experts_over_their_copies_alone) {
  const auto shape = transformer_sizes("mixtral-8x7b");
  ParallelLayout layout{.mesh = {.dp = 8}, .expert_parallel = 8, .shard = 3, .gradient_bytes = 2};
  const auto spread = plan_memory(shape, layout);
  EXPECT_NEAR((spread.weights + spread.gradients + spread.optimizer) * 8, 747e9, 1e9);
  layout.expert_parallel = 1;
  EXPECT_NEAR(plan_memory(shape, layout).optimizer, spread.optimizer, 1e-6 * spread.optimizer);
}

TEST(PlanMemories, cut_experts_by_tensor_parallelism_where_that_is_wider) {
  const auto shape = transformer_sizes("mixtral-8x7b");
  ParallelLayout layout{.mesh = {.tp = 8}};
  EXPECT_NEAR(plan_memory(shape, layout).weights, 46.7e9 * 2 / 8, 0.1e9);
  layout.expert_parallel = 4;
  EXPECT_NEAR(plan_memory(shape, layout).weights, 46.7e9 * 2 / 8, 0.1e9);
}

TEST(PlanProblem, joins_experts_over_their_copies_alone) {
  const auto machine = find_machine("dgx-h100");
  GroupWires wires(machine);
  const auto shape = transformer_sizes("mixtral-8x7b");
  ParallelLayout layout{.mesh = {.dp = 8}};
  const Seconds all = make_problem(shape, layout, wires).wires.join;
  layout.expert_parallel = 8;  // one copy of each expert: nothing of them is joined
  EXPECT_LT(make_problem(shape, layout, wires).wires.join, 0.06 * all);
  layout.shard = 3;
  EXPECT_LT(make_problem(shape, layout, wires).wires.gather_forward, 0.06 * all);
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

TEST(PlanMemories, keep_in_host_memory_what_the_gpu_is_spared) {
  const auto shape = transformer_sizes("llama-7b");
  ParallelLayout layout{.mesh = {.pp = 2}};
  const auto here = plan_memory(shape, layout);
  layout.offload_optimizer = true;
  const auto there = plan_memory(shape, layout);
  EXPECT_EQ(here.host, 0);
  EXPECT_EQ(there.optimizer, 0);
  EXPECT_EQ(there.host, here.optimizer);
  EXPECT_EQ(there.total(), here.total() - here.optimizer);
}

TEST(PlanMemories, hold_no_second_copy_of_weights_that_are_32_bits_wide) {
  PlanQuestion question;
  question.shape = transformer_sizes("gpt2-xl");
  question.precision = Precision::fp32;
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
  layout.precision = Precision::fp32;
  EXPECT_DOUBLE_EQ(layer_activations(sizes, layout), 2 * half);
}

TEST(PlanMemories, hold_gradients_of_4_bytes_and_of_2_where_parameters_are_sharded) {
  PlanQuestion question;
  question.shape = transformer_sizes("llama-7b");
  question.dp = 8;
  for (const auto& layout : candidate_layouts(question, 8))
    EXPECT_EQ(layout.gradient_bytes, layout.shard == 3 ? 2 : 4) << layout.shard;
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
  ParallelLayout layout{.mesh = {.pp = 4}, .micro_batches = 8};
  const auto deep = plan_memory(sizes, layout).activations;
  layout.recompute = Recompute::full;
  EXPECT_LT(plan_memory(sizes, layout).activations, 0.3 * deep);
  const ParallelLayout shallow{.mesh = {.pp = 4}, .micro_batches = 1};
  EXPECT_LT(plan_memory(sizes, shallow).activations, deep);
}

}  // namespace
}  // namespace gradwire
