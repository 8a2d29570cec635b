// How far a plan's step may be off.
#include "predict/parallel/doubted.h"

#include <gtest/gtest.h>

#include <cmath>

namespace gradwire {
namespace {

PlannedStep best_on(const char* on, const char* model, Precision precision, int dp) {
  PlanQuestion question;
  question.shape = transformer_sizes(model);
  question.precision = precision;
  question.batch = question.dp.emplace(dp);
  return make_plans(question, find_machine(on), 1).plans.front();
}

// Collectives through host memory are 40 % off, computing 22 %: that of its part, together.
TEST(RangeOfAPlan, is_as_wide_as_what_its_step_is_made_of) {
  const auto sent = best_on("2x-titan-rtx-pcie", "gpt2-xl", Precision::fp16, 2);
  const double share = sent.parts.communication() / sent.step;
  ASSERT_GT(share, 0.3);
  EXPECT_GT(sent.high / sent.step, 1 + 0.4 * share);
  EXPECT_LT(sent.low / sent.step, 1 - 0.25 * share);
  const auto computed = best_on("dgx-a100", "llama-7b", Precision::bf16, 8);
  ASSERT_LT(computed.parts.communication() / computed.step, 0.2);
  EXPECT_NEAR(computed.high / computed.step, 1.22, 0.03);
  EXPECT_NEAR(computed.step / computed.low, 1.22, 0.03);
}

TEST(DoubtedPlan, takes_what_was_planned_where_nothing_is_otherwise) {
  const auto machine = find_machine("2x-rtx3090-pcie");
  const auto plan = best_on("2x-rtx3090-pcie", "gpt2-xl", Precision::bf16, 2);
  DoubtedMachine doubted(machine, {});
  const DoubtedPlan doubt(doubted, transformer_sizes("gpt2-xl"), plan, default_parallel_model());
  EXPECT_NEAR(doubt.step({}), plan.step, 1e-9 * plan.step);
  EXPECT_LT(doubt.step_without_wires({}), plan.step);
  EXPECT_NEAR(doubt.step({.longer = std::log(1.1), .computing = std::log(1.1)}), 1.1 * plan.step,
              1e-9 * plan.step);
  EXPECT_TRUE(doubt.has_other_slots());
  EXPECT_LT(doubt.step({.other_slots = 1}), plan.step);
}

}  // namespace
}  // namespace gradwire
