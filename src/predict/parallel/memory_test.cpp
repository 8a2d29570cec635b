// What all GPUs hold together is no less than what a model needs, however it is split.
#include "predict/parallel/memory.h"

#include <gtest/gtest.h>

#include <array>
#include <random>

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
    layout.precision = number(0, 1) ? MatmulPrecision::bf16 : MatmulPrecision::fp32;
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

}  // namespace
}  // namespace gradwire
