// What a link gains for a model that is split, and how sure that is.
#include "predict/compare/plan_gain.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <functional>

#include "base/error.h"
#include "predict/compare/asked_fixture.h"
#include "predict/step/on_machine.h"
#include "predict/step/range.h"
#include "predict/workload/catalog.h"

namespace gradwire {
namespace {

PlanQuestion two_replicas(const char* model = "gpt2-xl") {
  PlanQuestion question;
  question.shape = transformer_sizes(model);
  question.batch = 2;
  question.dp = 2, question.shard = 1;
  question.recompute = Recompute::none;
  return question;
}

struct Compared {
  Machine better, worse;
  PlannedStep of_better, of_worse;
  PlanGain gain;
};

Compared compared(const PlanQuestion& question, const char* better, const char* worse) {
  Compared all{find_machine(better), find_machine(worse), {}, {}, {}};
  all.of_better = make_plans(question, all.better, 1).plans.front();
  all.of_worse = make_plans(question, all.worse, 1).plans.front();
  all.gain = plan_gain(question, {all.better, all.of_better}, {all.worse, all.of_worse});
  return all;
}

std::string refusal_of(const std::function<void()>& asking) {
  try {
    asking();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "not refused";
}

TEST(PlanGain, is_the_ratio_of_what_both_machines_get_done) {
  const auto pair = compared(two_replicas(), "2x-rtx3090-nvlink", "2x-rtx3090-pcie");
  EXPECT_NEAR(pair.gain.speedup, pair.of_better.samples_per_s / pair.of_worse.samples_per_s, 1e-9);
  EXPECT_GT(pair.gain.speedup, 1.05);
}

// Collectives through host memory are 40 % off; that share of the slower step, up and down, lies inside the range.
TEST(PlanGain, has_a_range_that_holds_what_the_collectives_may_be_off_by) {
  const auto pair = compared(two_replicas(), "2x-rtx3090-nvlink", "2x-rtx3090-pcie");
  const double share = pair.of_worse.parts.communication() / pair.of_worse.step;
  EXPECT_LT(pair.gain.low, pair.gain.speedup * (1 - 0.28 * share));
  EXPECT_GT(pair.gain.high, pair.gain.speedup * (1 + 0.4 * share));
}

TEST(PlanGain, doubts_slots_that_nobody_stated) {
  const auto assumed = compared(two_replicas(), "2x-rtx3090-nvlink", "2x-rtx3090-pcie").gain;
  ASSERT_TRUE(assumed.other_slots);
  EXPECT_EQ(assumed.other_slots->lanes, 8);
  EXPECT_LT(assumed.in_other_slots, assumed.speedup);
  EXPECT_LE(assumed.low, assumed.in_other_slots);
  EXPECT_FALSE(compared(two_replicas(), "dgx-a100", "dgx-a100-40").gain.other_slots);
}

TEST(PlanGain, is_less_sure_of_plans_that_differ_in_more_than_their_links) {
  auto question = two_replicas();
  const auto machine = find_machine("2x-rtx3090-nvlink");
  const auto plain = make_plans(question, machine, 1).plans.front();
  question.recompute = Recompute::full;
  const auto again = make_plans(question, machine, 1).plans.front();
  const auto same = plan_gain(question, {machine, plain}, {machine, plain});
  const auto differ = plan_gain(question, {machine, plain}, {machine, again});
  EXPECT_NEAR(same.speedup, 1, 1e-9);
  EXPECT_GT(differ.speedup, 1.1);
  EXPECT_GT(differ.high / differ.low, 1.1 * same.high / same.low);
  EXPECT_GT(again.parts.again, 0);
  EXPECT_EQ(plain.parts.again, 0);
}

TEST(PlanGain, of_links_without_limits_is_what_its_own_cost) {
  const auto machine = find_machine("2x-rtx3090-pcie");
  const auto question = two_replicas();
  const auto plan = make_plans(question, machine, 1).plans.front();
  const auto gain = gain_without_limits(question, {machine, plan});
  EXPECT_NEAR(gain.speedup * (1 - plan.parts.communication() / plan.step), 1, 0.05);
  EXPECT_GT(gain.low, 1);
  EXPECT_GT(gain.high, gain.speedup * 1.05);
  const auto alone = find_machine("1x-a100-sxm-80-nvswitch");
  PlanQuestion single;
  single.shape = transformer_sizes("gpt2");
  EXPECT_NEAR(gain_without_limits(single, {alone, make_plans(single, alone, 1).plans.front()}).speedup, 1,
              1e-9);
}

// `plan` and `compare` without a split say in the same words that a GPU does not have a precision.
TEST(PlanPrecision, is_refused_as_compare_refuses_it) {
  for (const auto& [on, precision] : {std::pair{"2x-titan-rtx-pcie", Precision::bf16},
                                      {"2x-v100-nvlink-pairs", Precision::tf32},
                                      {"2x-k80-pcie", Precision::fp16}}) {
    auto question = two_replicas("gpt2");
    question.precision = precision;
    EXPECT_EQ(refusal_of([&, at = precision, name = on] { ask("gpt2", 4, {name}, at); }),
              refusal_of([&, name = on] { make_plans(question, find_machine(name)); }));
  }
}

TEST(RangeOfAGain, adds_doubts_up_as_squares_of_logarithms) {
  const auto effect =
      range_of(2, [](std::span<const double> shares) { return std::exp(0.3 * shares[0] + 0.4 * shares[1]); });
  EXPECT_DOUBLE_EQ(effect.speedup, 1);
  EXPECT_NEAR(effect.high, std::exp(0.5), 1e-9);
  EXPECT_NEAR(effect.low, std::exp(-0.5), 1e-9);
}

TEST(RangeOfAGain, has_one_end_alone_where_a_doubt_has) {
  const auto effect =
      range_of(1, [](std::span<const double> shares) { return 1 + std::max(0.0, shares[0]); });
  EXPECT_DOUBLE_EQ(effect.low, 1);
  EXPECT_DOUBLE_EQ(effect.high, 2);
}

// Two models price replicas that share nothing: that of DDP's buckets and that of plans. With computing measured they
// differ in what waits beside it and in how much hides: through host memory nothing of buckets does, as was measured, and
// half of what plans send, as runs of plans have it.
TEST(PlanGain, of_replicas_that_share_nothing_is_that_of_ddp_where_computing_was_measured) {
  constexpr int kBatch = 4;
  constexpr Seconds kMeasured = 0.3;
  for (const char* model : {"gpt2", "gpt2-medium", "bert-large"})
    for (const char* on :
         {"2x-rtx3090-nvlink", "2x-rtx3090-pcie", "4x-a6000-pcie", "dgx-a100", "2*dgx-a100@8x-hdr"}) {
      const auto machine = find_machine(on);
      StepOptions options;
      options.batch = kBatch;
      options.precision = Precision::fp16;
      options.anchor = Anchor{kMeasured, kBatch, 1, options.precision};
      const auto plain = estimate_step(load_model(model), machine, options);
      PlanQuestion question;
      question.shape = transformer_sizes(model);
      question.precision = options.precision;
      question.batch = kBatch * static_cast<int>(machine.gpus.size());
      question.tp = question.pp = 1, question.shard = 0, question.micro_batch = kBatch;
      question.recompute = Recompute::none;
      question.measured = StepOnOneGpu{kMeasured, kBatch};
      const auto planned = make_plans(question, machine, 1).plans.front();
      const bool through_host = planned.traffic.at(0).way == Way{.inside = NcclLink::host};
      EXPECT_NEAR(planned.step / plain.step, 1, through_host ? 0.2 : 0.1) << model << " on " << on;
    }
}

}  // namespace
}  // namespace gradwire
