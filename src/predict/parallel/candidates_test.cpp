// Which layouts a question has, and what is refused with which reason.
#include "predict/parallel/candidates.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <set>

#include "base/error.h"
#include "predict/parallel/memory.h"
#include "predict/parallel/problem.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::ThrowsMessage;

PlanQuestion question_of(const char* model) {
  PlanQuestion question;
  question.shape = transformer_sizes(model);
  return question;
}

void expect_refused(const PlanQuestion& question, const char* on, const testing::Matcher<std::string>& why) {
  const auto machine = find_machine(on);
  EXPECT_THAT([&] { layouts_on(question, machine); }, ThrowsMessage<ConfigError>(why));
}

TEST(Candidates, shard_what_replicas_hold_and_nothing_else) {
  auto question = question_of("llama-7b");
  for (const auto& layout : candidate_layouts(question, 8))
    EXPECT_TRUE(layout.shard == 0 || layout.mesh.dp > 1) << describe(layout);
  for (question.shard = 1; *question.shard <= 3; ++*question.shard) {
    const auto layouts = candidate_layouts(question, 8);
    EXPECT_FALSE(layouts.empty());
    for (const auto& layout : layouts) EXPECT_GT(layout.mesh.dp, 1) << describe(layout);
  }
}

TEST(Candidates, refuse_to_shard_without_replicas) {
  auto question = question_of("llama-7b");
  question.shard = 3, question.tp = 8;
  expect_refused(question, "dgx-a100", AllOf(HasSubstr("--shard 3: "), HasSubstr("dp of 2 or more")));
  question.tp.reset();
  expect_refused(question, "1x-a100-sxm-80-nvswitch", HasSubstr("one GPU is too few"));
  question.dp = 1, question.shard = 0;
  EXPECT_NO_THROW(layouts_on(question, find_machine("dgx-a100")));
}

TEST(Candidates, spread_experts_over_every_number_of_neighbours_that_divides) {
  auto question = question_of("mixtral-8x7b");
  question.dp = 4, question.tp = 2;
  std::set<int> sizes;
  for (const auto& layout : candidate_layouts(question, 8)) sizes.insert(layout.expert_parallel);
  EXPECT_THAT(sizes, testing::ElementsAre(1, 2, 4, 8));
  question.expert_parallel = 4;
  for (const auto& layout : candidate_layouts(question, 8)) EXPECT_EQ(layout.expert_parallel, 4);
}

TEST(Candidates, refuse_experts_that_can_not_be_spread_so) {
  auto question = question_of("mixtral-8x7b");
  question.expert_parallel = 16;
  expect_refused(question, "dgx-h100", HasSubstr("--ep 16: mixtral-8x7b has 8 experts, write a divisor"));
  question.expert_parallel = 3;
  expect_refused(question, "dgx-h100", HasSubstr("--ep 3: mixtral-8x7b has 8 experts, write a divisor"));
  question.expert_parallel = 8;
  expect_refused(question, "4x-a100-sxm-80-nvswitch",
                 HasSubstr("--ep 8: 4x-a100-sxm-80-nvswitch has 4 GPUs"));
  question.pp = 2;
  expect_refused(question, "dgx-h100",
                 HasSubstr("--ep 8: experts are spread over the dp x tp GPUs of a stage"));
  question = question_of("llama-7b");
  question.expert_parallel = 8;
  expect_refused(question, "dgx-h100", HasSubstr("--ep 8: llama-7b has no experts to spread"));
}

TEST(Candidates, interleave_stages_of_a_pipeline_alone) {
  auto question = question_of("llama-7b");  // 32 layers
  question.virtual_stages = 3;
  const auto layouts = candidate_layouts(question, 8);
  EXPECT_FALSE(layouts.empty());
  for (const auto& layout : layouts) {
    EXPECT_GT(layout.mesh.pp, 1) << describe(layout);
    EXPECT_EQ(layout.micro_batches % layout.mesh.pp, 0) << describe(layout);
    EXPECT_LE(layout.mesh.pp * layout.virtual_stages, 32) << describe(layout);
  }
}

TEST(Candidates, refuse_chunks_that_can_not_take_turns) {
  auto question = question_of("llama-7b");
  question.virtual_stages = 2, question.pp = 1;
  expect_refused(question, "dgx-a100", HasSubstr("--chunks 2: they take turns on the stages"));
  question.pp = 8, question.virtual_stages = 5;
  expect_refused(question, "dgx-a100", HasSubstr("at most the 32 layers of llama-7b"));
  question.virtual_stages = 2, question.batch = 6;
  expect_refused(question, "dgx-a100", HasSubstr("micro-batches of a step a multiple of --pp"));
}

TEST(Candidates, call_sizes_as_whoever_asks_does) {
  auto question = question_of("llama-7b");
  question.flags.virtual_stages = "--virtual-stages";
  question.virtual_stages = 2, question.pp = 1;
  expect_refused(
      question, "dgx-a100",
      AllOf(HasSubstr("--virtual-stages 2: they take turns"), HasSubstr("--pp x --virtual-stages")));
  question = question_of("llama-7b");
  question.flags.micro_batch = "--batch";
  question.micro_batch = 7;
  expect_refused(question, "dgx-a100", HasSubstr("--batch 7: a replica's share"));
}

TEST(Candidates, split_sequences_where_layers_are_shared_unless_told_not_to) {
  auto question = question_of("llama-7b");
  for (const auto& layout : candidate_layouts(question, 8))
    EXPECT_EQ(layout.sequence_parallel, layout.mesh.tp > 1) << describe(layout);
  question.sequence_parallel = false;
  for (const auto& layout : candidate_layouts(question, 8))
    EXPECT_FALSE(layout.sequence_parallel) << describe(layout);
}

TEST(SequencesOf, are_counted_up_to_what_a_step_may_have) {
  EXPECT_EQ(sequences_of(8, 4, 2), 64);
  EXPECT_EQ(sequences_of(1, 1 << 12, 1 << 12), kMostSequences);
  for (const int most : {1 << 12, 1 << 20})
    EXPECT_THAT([&] { sequences_of(2, most, most); },
                ThrowsMessage<ConfigError>(HasSubstr("more than 16777216 sequences a step")));
}

TEST(Candidates, say_which_sizes_are_not_those_of_the_machine) {
  auto question = question_of("llama-7b");
  question.dp = 2, question.tp = 2, question.pp = 4;
  expect_refused(question, "dgx-a100", HasSubstr("--dp 2 --tp 2 --pp 4 are 16 GPUs, and there are 8"));
  question.pp = 1;
  expect_refused(question, "dgx-a100", HasSubstr("--dp 2 --tp 2 --pp 1 are 4 GPUs, and there are 8"));
  question.dp = 4, question.tp = 4, question.pp.reset();
  expect_refused(question, "dgx-a100", HasSubstr("--dp 4 --tp 4 are 16 GPUs"));
}

TEST(Candidates, say_which_size_the_batch_or_the_layers_do_not_bear) {
  auto question = question_of("llama-7b");
  question.micro_batch = 7;
  expect_refused(question, "dgx-a100", HasSubstr("--micro-batch 7: a replica's share of the 64 sequences"));
  question.micro_batch.reset(), question.dp = 8, question.batch = 12;
  expect_refused(question, "dgx-a100", HasSubstr("--dp 8: the 12 sequences of a step"));
  question = question_of("gpt2");  // 12 layers
  question.pp = 16;
  expect_refused(question, "2*dgx-a100@hdr", HasSubstr("--pp 16: gpt2 has 12 layers"));
}

TEST(Candidates, may_be_held_by_less_memory_than_a_gpu_has_and_not_by_more) {
  auto question = question_of("gpt2");
  const auto machine = find_machine("dgx-a100");
  EXPECT_EQ(memory_limit(question, machine.gpu), usable_memory(machine.gpu));
  question.memory = 20.0 * (1 << 30);
  EXPECT_EQ(memory_limit(question, machine.gpu), 20.0 * (1 << 30));
  question.memory = 100.0 * (1 << 30);
  expect_refused(question, "dgx-a100",
                 HasSubstr("--memory 100: NVIDIA A100-SXM4-80GB of dgx-a100 has 80 GiB"));
}

TEST(Candidates, refuse_products_that_the_gpu_has_not) {
  auto question = question_of("gpt2");
  expect_refused(question, "2x-titan-rtx-pcie", HasSubstr("does not have it; it has fp32, fp16"));
  question.precision = Precision::tf32;
  expect_refused(question, "2x-v100-nvlink-pairs", HasSubstr("--precision tf32: Tesla V100"));
  question.precision = Precision::fp16;
  expect_refused(question, "2x-k80-pcie", HasSubstr("it has fp32"));
  question.precision = Precision::fp8;
  expect_refused(question, "dgx-a100", HasSubstr("it has fp32, tf32, fp16, bf16"));
  EXPECT_NO_THROW(layouts_on(question, find_machine("dgx-h100")));
}

TEST(UsualPrecision, is_bf16_where_the_gpu_has_it_and_what_is_fastest_elsewhere) {
  EXPECT_EQ(usual_precision(find_gpu("a100-sxm-80")), Precision::bf16);
  EXPECT_EQ(usual_precision(find_gpu("titan-rtx")), Precision::fp16);
  EXPECT_EQ(usual_precision(find_gpu("v100-sxm")), Precision::fp16);
  EXPECT_EQ(usual_precision(find_gpu("p40")), Precision::fp32);  // 16-bit ones at a 64th of the rate
  EXPECT_EQ(usual_precision(find_gpu("k80")), Precision::fp32);
}

TEST(UsualPrecision, of_several_machines_is_one_that_all_of_them_have) {
  const auto usual_on = [](std::initializer_list<const char*> names) {
    std::vector<Machine> machines;
    for (const char* name : names) machines.push_back(find_machine(name));
    return usual_precision(machines);
  };
  EXPECT_EQ(usual_on({"dgx-a100", "8x-a100-pcie"}), Precision::bf16);
  EXPECT_EQ(usual_on({"dgx-a100", "2x-titan-rtx-pcie"}), Precision::fp16);
  EXPECT_EQ(usual_on({"2x-k80-pcie", "2x-titan-rtx-pcie"}), Precision::fp32);
}

TEST(PlanPrecision, is_any_but_the_one_that_nothing_is_known_of) {
  EXPECT_EQ(parse_plan_precision("amp-fp16"), Precision::fp16);
  EXPECT_EQ(parse_plan_precision("nvfp4"), Precision::nvfp4);
  EXPECT_THROW(parse_plan_precision("fp64"), ConfigError);
}

}  // namespace
}  // namespace gradwire
