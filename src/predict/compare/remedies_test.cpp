#include <gmock/gmock.h>

#include <algorithm>

#include "predict/compare/asked_fixture.h"

namespace gradwire {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::Not;

TEST(Remedies, a_huge_batch_is_not_refused_for_what_the_search_would_try) {
  for (const int batch : {1'000'000, 1 << 20})
    for (const auto& turn : ask("gpt2", batch, {"2x-rtx3090-pcie"}).turns)
      EXPECT_THAT(turn.what, Not(HasSubstr("from batch")));
}

TEST(Remedies, remedies_are_sorted_and_matter) {
  const auto result = ask("gpt2", 4, {"2x-titan-rtx-nvlink", "2x-titan-rtx-pcie"});
  ASSERT_FALSE(result.remedies.empty());
  for (std::size_t i = 1; i < result.remedies.size(); ++i)
    EXPECT_GE(result.remedies[i - 1].speedup, result.remedies[i].speedup);
  EXPECT_GE(result.remedies.back().speedup, 1.02);
}

TEST(Remedies, gloo_on_gpus_is_told_that_nccl_would_help) {
  StepOptions options;
  options.batch = 4;
  options.overlap = true;
  options.backend = Backend::gloo;
  const auto result = compare(build_model("gpt2"), {find_machine("2x-rtx3090-nvlink")}, options);
  const auto nccl = std::ranges::find(result.remedies, "--backend nccl", &Remedy::what);
  ASSERT_NE(nccl, result.remedies.end());
  EXPECT_GT(nccl->speedup, 1.5);
}

TEST(Remedies, a_bridge_is_offered_to_a_machine_given_by_a_matrix_too) {
  NodeSpec node;
  node.gpu = "rtx3090", node.gpus = 2;
  node.matrix = parse_matrix("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n", "box.txt");
  StepOptions options;
  options.batch = 4;
  const auto result = compare(build_model("gpt2"), {build_machine(node)}, options);
  EXPECT_THAT(remedies_of(result), Contains("an NVLink bridge"));
  EXPECT_NEAR(hours_saved({1.5, 1, 2}), 8, 1e-9) << "24 hours of work take 16";
}

TEST(Remedies, a_bridge_is_offered_for_the_pair_that_has_none) {
  NodeSpec node;
  node.gpu = "rtx3090", node.gpus = 4;
  node.matrix = parse_matrix(
      "\tGPU0\tGPU1\tGPU2\tGPU3\nGPU0\tX\tNODE\tNODE\tNODE\nGPU1\tNODE\tX\tNODE\tNODE\n"
      "GPU2\tNODE\tNODE\tX\tNV4\nGPU3\tNODE\tNODE\tNV4\tX\n",
      "box.txt");
  const auto all = rearrangements_of(build_machine(node));
  const auto bridged = std::ranges::find(all, "an NVLink bridge", &Rearrangement::what);
  ASSERT_NE(bridged, all.end());
  const auto links = [&](std::size_t a, std::size_t b) {
    return nvlinks_between(bridged->machine.topology, bridged->machine.gpus[a], bridged->machine.gpus[b]);
  };
  EXPECT_EQ(links(0, 1), 4);
  EXPECT_EQ(links(2, 3), 4);
  EXPECT_EQ(links(1, 2), 0);
}

TEST(Remedies, a_bridge_is_tried_for_an_odd_number_of_cards_too) {
  const auto all = rearrangements_of(find_machine("3x-rtx3090-pcie"));
  EXPECT_NE(std::ranges::find(all, "an NVLink bridge", &Rearrangement::what), all.end());
}

TEST(Remedies, modules_of_a_board_take_no_bridges) {
  const auto all = rearrangements_of(find_machine("2x-v100-sxm-pcie"));
  EXPECT_EQ(std::ranges::find(all, "an NVLink bridge", &Rearrangement::what), all.end());
}

TEST(Remedies, other_places_of_the_gpus_are_tried) {
  EXPECT_THAT(remedies_of(ask("gpt2", 4, {"2*1x-rtx3090@10gbe"})), Contains("all 2 GPUs in one node"));
  EXPECT_THAT(remedies_of(ask("gpt2", 4, {"2x-rtx4090-pcie-pix"})), Contains(HasSubstr("GPUs on")));
  EXPECT_THAT(remedies_of(ask("gpt2", 4, {"2x-rtx3090-pcie"})), Contains("an NVLink bridge"));
  EXPECT_THAT(remedies_of(ask("gpt2", 4, {"2*2x-rtx3090-nvlink@1gbe"})), Contains("one node alone"));
  EXPECT_THAT(remedies_of(ask("gpt2", 4, {"2x-rtx4090-pcie"})), Not(Contains(HasSubstr("bridge"))));
}

TEST(Remedies, a_large_enough_batch_turns_the_answer) {
  const auto result = ask("gpt2", 4, {"2x-titan-rtx-nvlink", "2x-titan-rtx-pcie"});
  ASSERT_FALSE(result.turns.empty());
  EXPECT_THAT(result.turns.front().what, HasSubstr("from batch"));
  EXPECT_EQ(result.turns.front().verdict, Verdict::no_difference);
}

TEST(Remedies, a_remedy_names_what_must_be_written) {
  StepOptions options;
  options.batch = 8, options.accumulate = 4;
  const auto model = build_model("bert-large");
  const auto given = compare(model, {find_machine("2x-rtx3090-pcie")}, options);
  EXPECT_THAT(remedies_of(given), Contains("--accumulate 16"));
  options.accumulate = 16;
  const auto followed = compare(model, {find_machine("2x-rtx3090-pcie")}, options);
  const auto advice = std::ranges::find(given.remedies, "--accumulate 16", &Remedy::what);
  ASSERT_NE(advice, given.remedies.end());
  EXPECT_NEAR(advice->speedup,
              followed.contenders[0].estimate.samples_per_s / given.contenders[0].estimate.samples_per_s,
              1e-9);
  options.accumulate = 1, options.overlap = false;
  EXPECT_THAT(remedies_of(compare(model, {find_machine("2x-rtx3090-nvlink")}, options)),
              Contains("without --no-overlap"));
}

TEST(Remedies, offers_tf32_where_the_gpu_has_it) {
  EXPECT_THAT(remedies_of(ask("gpt2", 4, {"dgx-a100"})), Contains("--precision tf32"));
  EXPECT_THAT(remedies_of(ask("gpt2", 4, {"2x-titan-rtx-pcie"})), Not(Contains("--precision tf32")));
  EXPECT_THAT(remedies_of(ask("gpt2", 4, {"dgx-a100"}, Precision::bf16)), Not(Contains("--precision tf32")));
}

TEST(Remedies, marks_what_does_not_fit_the_gpu) {
  const auto result = ask("gpt2", 4, {"2x-rtx3090-nvlink", "2*1x-rtx3090@10gbe"});
  ASSERT_FALSE(result.turns.empty());
  EXPECT_EQ(result.turns[0].what, "from batch 128");
  EXPECT_FALSE(result.turns[0].fits);
  EXPECT_THAT(remedies_of(ask("gpt2", 16, {"2x-rtx3090-pcie"})), Not(Contains("--batch 32")));
}

}  // namespace
}  // namespace gradwire
