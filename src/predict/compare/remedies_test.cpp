#include <gtest/gtest.h>

#include <algorithm>

#include "predict/compare/asked_fixture.h"

namespace gradwire {
namespace {

const Rearrangement* find_bridged(const std::vector<Rearrangement>& all) {
  const auto found = std::ranges::find(all, Change::bridges, &Rearrangement::change);
  return found == all.end() ? nullptr : &*found;
}

bool offers_tf32(const Comparison& result) {
  return std::ranges::any_of(result.remedies, [](const Remedy& remedy) {
    return remedy.change == Change::precision && remedy.options.precision == Precision::tf32;
  });
}

TEST(Remedies, a_huge_batch_is_not_refused_for_what_the_search_would_try) {
  for (const int batch : {1'000'000, 1 << 20})
    for (const auto& turn : ask("gpt2", batch, {"2x-rtx3090-pcie"}).turns)
      EXPECT_TRUE(turn.of != Change::batch || turn.down) << turn.value;
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
  const auto* nccl = find_remedy(result, Change::backend);
  ASSERT_NE(nccl, nullptr);
  EXPECT_EQ(nccl->options.backend, Backend::nccl);
  EXPECT_GT(nccl->speedup, 1.5);
}

TEST(Remedies, a_bridge_is_offered_to_a_machine_given_by_a_matrix_too) {
  NodeSpec node;
  node.gpu = "rtx3090", node.gpus = 2;
  node.matrix = parse_matrix("\tGPU0\tGPU1\nGPU0\t X \tPHB\nGPU1\tPHB\t X \n", "box.txt");
  StepOptions options;
  options.batch = 4;
  const auto result = compare(build_model("gpt2"), {build_machine(node)}, options);
  ASSERT_NE(find_remedy(result, Change::bridges), nullptr);
  EXPECT_EQ(find_remedy(result, Change::bridges)->count, 1);
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
  const auto* bridged = find_bridged(all);
  ASSERT_NE(bridged, nullptr);
  const auto links = [&](std::size_t a, std::size_t b) {
    return nvlinks_between(bridged->machine.topology, bridged->machine.gpus[a], bridged->machine.gpus[b]);
  };
  EXPECT_EQ(links(0, 1), 4);
  EXPECT_EQ(links(2, 3), 4);
  EXPECT_EQ(links(1, 2), 0);
}

TEST(Remedies, a_bridge_is_tried_for_an_odd_number_of_cards_too) {
  EXPECT_NE(find_bridged(rearrangements_of(find_machine("3x-rtx3090-pcie"))), nullptr);
}

TEST(Remedies, modules_of_a_board_take_no_bridges) {
  EXPECT_EQ(find_bridged(rearrangements_of(find_machine("2x-v100-sxm-pcie"))), nullptr);
}

TEST(Remedies, other_places_of_the_gpus_are_tried) {
  const auto offers = [](const char* on, Change change) {
    return find_remedy(ask("gpt2", 4, {on}), change) != nullptr;
  };
  EXPECT_TRUE(offers("2*1x-rtx3090@10gbe", Change::all_in_one_node));
  EXPECT_TRUE(offers("2x-rtx4090-pcie-pix", Change::one_switch) ||
              offers("2x-rtx4090-pcie-pix", Change::one_socket));
  EXPECT_TRUE(offers("2x-rtx3090-pcie", Change::bridges));
  EXPECT_TRUE(offers("2*2x-rtx3090-nvlink@1gbe", Change::one_node));
  EXPECT_FALSE(offers("2x-rtx4090-pcie", Change::bridges));
}

TEST(Remedies, a_large_enough_batch_turns_the_answer) {
  const auto result = ask("gpt2", 4, {"2x-titan-rtx-nvlink", "2x-titan-rtx-pcie"});
  ASSERT_FALSE(result.turns.empty());
  EXPECT_EQ(result.turns.front().of, Change::batch);
  EXPECT_FALSE(result.turns.front().down);
  EXPECT_EQ(result.turns.front().verdict, Verdict::no_difference);
}

TEST(Remedies, a_remedy_has_the_options_that_bring_it) {
  StepOptions options;
  options.batch = 8, options.accumulate = 4;
  const auto model = build_model("bert-large");
  const auto given = compare(model, {find_machine("2x-rtx3090-pcie")}, options);
  const auto* advice = find_remedy(given, Change::accumulate);
  ASSERT_NE(advice, nullptr);
  EXPECT_EQ(advice->options.accumulate, 16);
  const auto followed = compare(model, {find_machine("2x-rtx3090-pcie")}, advice->options);
  EXPECT_NEAR(advice->speedup,
              followed.contenders[0].estimate.samples_per_s / given.contenders[0].estimate.samples_per_s,
              1e-9);
  options.accumulate = 1, options.overlap = false;
  EXPECT_NE(find_remedy(compare(model, {find_machine("2x-rtx3090-nvlink")}, options), Change::overlap),
            nullptr);
}

TEST(Remedies, offers_tf32_where_the_gpu_has_it) {
  EXPECT_TRUE(offers_tf32(ask("gpt2", 4, {"dgx-a100"})));
  EXPECT_FALSE(offers_tf32(ask("gpt2", 4, {"2x-titan-rtx-pcie"})));
  EXPECT_FALSE(offers_tf32(ask("gpt2", 4, {"dgx-a100"}, Precision::bf16)));
}

TEST(Remedies, marks_what_does_not_fit_the_gpu) {
  const auto result = ask("gpt2", 4, {"2x-rtx3090-nvlink", "2*1x-rtx3090@10gbe"});
  ASSERT_FALSE(result.turns.empty());
  EXPECT_EQ(result.turns[0].of, Change::batch);
  EXPECT_EQ(result.turns[0].value, 128);
  EXPECT_FALSE(result.turns[0].fits);
  EXPECT_EQ(find_remedy(ask("gpt2", 16, {"2x-rtx3090-pcie"}), Change::batch), nullptr);
}

TEST(Remedies, advises_another_precision_of_a_recorded_run_only_where_its_own_is_known) {
  StepOptions options;
  options.batch = 4;
  Breakdown parts;
  parts.forward = 0.1, parts.backward = 0.2;
  options.anchor = Anchor{.step = 0.3, .batch = 4, .recorded = parts};
  const auto advice = [&] {
    return find_remedy(compare(build_model("gpt2"), {find_machine("dgx-a100")}, options),
                       Change::precision) != nullptr;
  };
  EXPECT_FALSE(advice()) << "it may be computed so already";
  options.anchor->precision = Precision::fp32;
  EXPECT_TRUE(advice());
  options.precision = Precision::bf16;
  options.anchor->precision = Precision::bf16;
  EXPECT_FALSE(advice());
}

}  // namespace
}  // namespace gradwire
