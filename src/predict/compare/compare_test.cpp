#include "predict/compare/compare.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "predict/compare/asked_fixture.h"
#include "predict/nccl/own.h"

namespace gradwire {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

// The known surprises.

// Cards that go straight over PCIe. Through host memory (GeForce, TITAN, peers too far apart for NCCL) the measured effect is
// 4 to 11 %: see the test of step_machine_test that holds the model against it.
TEST(Compare, nvlink_does_not_matter_for_resnet50_at_batch_64) {
  const auto answer = ask("resnet50", 64, {"2x-v100-sxm-nvlink", "2x-v100-sxm-pcie-pix"}).answer;
  EXPECT_EQ(answer.verdict, Verdict::no_difference);
}

TEST(Compare, nvlink_is_decisive_for_gpt2_at_batch_4_on_two_gpus) {
  const auto answer = ask("gpt2", 4, {"2x-titan-rtx-nvlink", "2x-titan-rtx-pcie"}).answer;
  EXPECT_EQ(answer.verdict, Verdict::helps);
  EXPECT_GT(answer.speedup, 1.1);
  EXPECT_GT(answer.low, 0.9);
  EXPECT_GT(answer.high, 1.29) << "what was measured";
}

TEST(Compare, nodes_on_the_same_network_err_alike) {
  const auto answer = ask("gpt2", 4, {"2*2x-a6000-nvlink@10gbe", "2*2x-a6000-pcie@10gbe"}).answer;
  EXPECT_NEAR(answer.speedup, 1, 0.01);
  EXPECT_GT(answer.low, 0.9);
  EXPECT_LT(answer.high, 1.1);
}

TEST(Compare, two_nodes_on_10_gb_ethernet_make_nvlink_irrelevant_again) {
  const auto answer = ask("gpt2", 4, {"2*2x-titan-rtx-nvlink@10gbe", "2*2x-titan-rtx-pcie@10gbe"}).answer;
  EXPECT_EQ(answer.verdict, Verdict::no_difference);
}

TEST(Compare, the_order_of_machines_does_not_change_the_answer) {
  const auto one = ask("gpt2", 4, {"2x-titan-rtx-nvlink", "2x-titan-rtx-pcie"}).answer;
  const auto other = ask("gpt2", 4, {"2x-titan-rtx-pcie", "2x-titan-rtx-nvlink"}).answer;
  EXPECT_EQ(one.verdict, other.verdict);
  EXPECT_DOUBLE_EQ(one.speedup, other.speedup);
}

TEST(Compare, where_neither_is_better_connected_the_faster_one_comes_first) {
  for (const auto& on :
       {std::vector<std::string>{"1x-h100-pcie", "1x-rtx3090"}, {"1x-rtx3090", "1x-h100-pcie"}}) {
    const auto answer = ask("gpt2", 4, on).answer;
    EXPECT_EQ(answer.better, "1x-h100-pcie");
    EXPECT_GT(answer.speedup, 1);
  }
}

// Of one number of GPUs most of what the model leaves open is the same.
TEST(Compare, what_more_gpus_give_is_less_sure_than_what_a_link_gives) {
  StepOptions options;
  options.anchor = Anchor{.step = 0.2, .batch = 8};
  options.batch = 8;
  const auto width = [&](const char* better, const char* worse) {
    const auto link =
        compare(build_model("bert-large"), {find_machine(better), find_machine(worse)}, options).answer.link;
    return link.high / link.low;
  };
  EXPECT_GT(width("dgx-a100", "1x-a100-sxm-80"), 1.1);
  EXPECT_LT(width("dgx-a100", "dgx-h100"), 1.1);
}

TEST(Compare, the_bar_holds_the_answer) {
  const auto answer = ask("bert-large", 8, {"2x-rtx3090-nvlink", "2x-rtx3090-pcie"}).answer;
  EXPECT_LT(answer.low, answer.speedup);
  EXPECT_GT(answer.high, answer.speedup);
}

TEST(Compare, a_measured_step_narrows_the_range) {
  const auto gpt2 = build_model("gpt2");
  const std::vector machines = {find_machine("2x-titan-rtx-nvlink"), find_machine("2x-titan-rtx-pcie")};
  StepOptions options;
  options.batch = 4;
  const auto estimated = compare(gpt2, machines, options).answer;
  options.anchor = Anchor{.step = 0.48, .batch = 4};
  const auto measured = compare(gpt2, machines, options).answer;
  EXPECT_LT(estimated.low / estimated.speedup, measured.low / measured.speedup);
  EXPECT_GT(estimated.high / estimated.speedup, measured.high / measured.speedup);
}

// The GPU's effect is on the better machine's wires, the link's on the worse machine's GPU.
TEST(Compare, says_what_the_gpu_does_and_what_the_link_does) {
  const auto answer = ask("gpt2", 4, {"dgx-a100", "8x-v100-pcie"}).answer;
  EXPECT_FALSE(answer.alike);
  EXPECT_GT(answer.gpu.speedup, 1.1);
  EXPECT_GT(answer.link.speedup, 1.05);
  EXPECT_NEAR(answer.speedup, answer.gpu.speedup * answer.link.speedup, 1e-9);
  EXPECT_LT(answer.link.high / answer.link.low, answer.high / answer.low) << "the link is known better";
}

TEST(Compare, counts_more_gpus_apart_from_the_link) {
  const auto answer = ask("bert-large", 8, {"2*dgx-h100@ndr", "dgx-h100"}).answer;
  EXPECT_DOUBLE_EQ(answer.count, answer.better == "2*dgx-h100@ndr" ? 2 : 0.5);
  EXPECT_NEAR(answer.link.speedup, 1, 0.05);
  EXPECT_EQ(answer.better, "2*dgx-h100@ndr");
}

TEST(Compare, says_what_more_gpus_give) {
  const auto result = ask("gpt2", 4, {"1x-rtx3090", "2x-rtx3090-pcie"});
  const auto& answer = result.answer;
  EXPECT_EQ(answer.better, "2x-rtx3090-pcie");
  EXPECT_EQ(answer.worse, "1x-rtx3090");
  EXPECT_GT(answer.speedup, 1);
  EXPECT_EQ(result.remedies_on, "2x-rtx3090-pcie") << "there is no link on one GPU to help";
  EXPECT_FALSE(result.remedies.empty());
}

TEST(Compare, prefers_machines_that_differ_in_their_links_alone) {
  const auto answer = ask("gpt2", 4, {"4x-rtx3090-nvlink", "2x-rtx3090-nvlink", "4x-rtx3090-pcie"}).answer;
  EXPECT_EQ(answer.better, "4x-rtx3090-nvlink");
  EXPECT_EQ(answer.worse, "4x-rtx3090-pcie");
}

TEST(Compare, a_measured_step_stands_for_every_gpu_so_the_links_alone_are_compared) {
  StepOptions options;
  options.batch = 4;
  options.anchor = Anchor{.step = 0.2, .batch = 4};
  const auto result = compare(
      build_model("gpt2"), {find_machine("2x-a100-pcie-nvlink"), find_machine("2x-rtx3090-pcie")}, options);
  EXPECT_EQ(result.answer.gpu.speedup, 1);
  EXPECT_DOUBLE_EQ(result.answer.speedup, result.answer.link.speedup);
  EXPECT_TRUE(result.answer.on_worse.wires.through_host);
  EXPECT_TRUE(result.links_alone);
}

TEST(Compare, a_range_that_spans_one_is_no_answer) {
  EXPECT_TRUE(is_certain({1.3, 1.1, 1.5}));
  EXPECT_FALSE(is_certain({1.3, 0.9, 1.7}));
  EXPECT_FALSE(is_certain({0.8, 0.6, 1.1}));
  EXPECT_TRUE(is_certain({1.02, 0.99, 1.06}));
  EXPECT_FALSE(is_certain({1.02, 0.8, 1.3})) << "half or twice as likely as none is not 'none'";
  EXPECT_EQ(how_sure({1.3, 1.1, 1.5}), Sure::yes);
  EXPECT_EQ(how_sure({1.3, 0.95, 1.7}), Sure::probably);
  EXPECT_EQ(how_sure({1.1, 0.7, 1.7}), Sure::cant_tell);
  const auto answer = ask("resnet50", 64, {"2x-v100-sxm-nvlink", "2x-rtx2080ti-pcie"}).answer;
  ASSERT_LT(answer.low, 1);
  EXPECT_EQ(answer.sure, Sure::probably);
}

TEST(Compare, hidden_collectives_cost_what_they_slow) {
  const auto result = ask("resnet50", 64, {"2x-titan-rtx-pcie"});
  const auto& estimate = result.contenders[0].estimate;
  const auto ideal = with_ideal_wires(result.workload, result.contenders[0], result.options, {}).estimate;
  EXPECT_GT(estimate.communication_cost(), 5 * estimate.parts.comm_exposed);
  EXPECT_NEAR(estimate.communication_cost(), estimate.step - ideal.step, 1e-6);
}

TEST(Compare, one_machine_is_compared_with_a_link_without_limits) {
  const auto result = ask("gpt2", 4, {"2x-titan-rtx-pcie"});
  EXPECT_EQ(result.answer.better, "a link without limits");
  EXPECT_GT(result.answer.speedup, 1);
}

TEST(Compare, with_gloo_nvlink_does_not_matter) {
  StepOptions options;
  options.batch = 4;
  options.backend = Backend::gloo;
  const auto answer = compare(build_model("gpt2"),
                              {find_machine("2x-rtx3090-nvlink"), find_machine("2x-rtx3090-pcie")}, options)
                          .answer;
  EXPECT_EQ(answer.verdict, Verdict::no_difference);
  EXPECT_TRUE(answer.certain) << "the same collectives err alike";
  EXPECT_TRUE(same_way(answer.on_better.wires, answer.on_better.estimate.communication, answer.on_worse.wires,
                       answer.on_worse.estimate.communication));
}

// The founding question, four bridges in a box of eight: published gains are 1.05 to 1.46.
TEST(Compare, bridges_in_a_box_of_eight_take_traffic_off_what_all_share) {
  StepOptions options;
  options.batch = 4;
  const auto answer = compare(build_model("bert-large"),
                              {box_of_eight(Intra::nvlink_pairs), box_of_eight(Intra::pcie)}, options)
                          .answer;
  EXPECT_LT(answer.low, 1.3);
  EXPECT_GT(answer.high, 1.3);
  EXPECT_GT(answer.low, 0.95);
  EXPECT_LT(answer.on_better.wires.loads.front().load, answer.on_worse.wires.loads.front().load);
}

TEST(Compare, knows_what_slots_that_nobody_stated_would_answer_if_they_were_others) {
  NodeSpec with;
  with.gpu = "rtx3090", with.gpus = 2, with.intra = Intra::nvlink_pairs, with.name = "bridged";
  NodeSpec without = with;
  without.intra = Intra::pcie, without.name = "bare";
  const auto ask = [&] {
    return compare(build_model("gpt2"), {build_machine(with), build_machine(without)}, {}).answer;
  };
  const auto assumed = ask();
  ASSERT_EQ(assumed.otherwise.size(), 1U);
  EXPECT_EQ(std::get<OtherSlots>(assumed.otherwise[0].what).lanes, 8);
  EXPECT_EQ(std::get<OtherSlots>(assumed.otherwise[0].what).all_lanes, 16);
  with.pcie_width = without.pcie_width = 16;
  const auto stated = ask();
  EXPECT_TRUE(stated.otherwise.empty());
  EXPECT_NEAR(assumed.otherwise[0].gain, stated.link.speedup, 0.005)
      << "one truth: what is said of x16 is what a machine with such slots is told";
  EXPECT_LT(assumed.low, stated.link.speedup);
}

// 70.6 G parameters of 16 bytes each: weights, gradients, two moments.
TEST(Compare, knows_when_a_model_does_not_fit_the_gpu) {
  const auto result = ask("llama-70b", 1, {"dgx-h100"}, Precision::bf16);
  ASSERT_EQ(result.misfits.size(), 1u);
  EXPECT_NEAR(double(result.misfits[0].state) / (1 << 30), 1051, 1);
  EXPECT_TRUE(ask("gpt2", 1, {"dgx-h100"}).misfits.empty());
}

TEST(Compare, one_gpu_sends_nothing) {
  const auto result = ask("resnet50", 32, {"1x-rtx3090-pcie", "1x-rtx4090-pcie"});
  EXPECT_EQ(result.contenders[0].estimate.communication, 0);
}

// The statistics of batch normalisation cross the same wires, after the gradients.
TEST(Compare, what_buffers_take_counts_too) {
  const auto one = ask("resnet50", 32, {"2x-rtx3090-pcie"});
  const auto& slow = one.answer.on_worse;
  EXPECT_GT(slow.estimate.synchronising, 0);
  EXPECT_EQ(slow.taken(), slow.estimate.communication + slow.estimate.synchronising);
}

TEST(Compare, what_does_not_fit_is_known_once_of_equal_gpus) {
  const auto misfits = ask("bert-large", 512, {"2x-rtx3090-nvlink", "2x-rtx3090-pcie", "dgx-a100"}).misfits;
  ASSERT_EQ(misfits.size(), 2U);
  EXPECT_THAT(misfits[0].machines, ElementsAre("2x-rtx3090-nvlink", "2x-rtx3090-pcie"));
}

TEST(Compare, refuses_a_precision_that_the_gpu_does_not_have) {
  EXPECT_THAT([] { ask("gpt2", 4, {"2x-titan-rtx-pcie"}, Precision::bf16); },
              ThrowsMessage<ConfigError>(HasSubstr("--precision bf16: ")));
  EXPECT_THAT([] { ask("gpt2", 4, {"dgx-1"}, Precision::tf32); },
              ThrowsMessage<ConfigError>(HasSubstr("does not have it; it has fp32, fp16")));
}

// 8x-a100-pcie hangs behind two switches: with bridges on the same tree little changes.
TEST(Compare, bridges_get_no_credit_for_another_tree) {
  const auto answer = ask("gpt2-xl", 0, {"8x-a100-pcie-nvlink", "8x-a100-pcie"}, Precision::bf16).answer;
  EXPECT_NEAR(answer.speedup, 1, 0.05);
}

TEST(Compare, a_machine_with_what_was_measured_on_it_is_not_the_same_without) {
  Machine measured = find_machine("2x-rtx3090-pcie");
  take_measured(measured, {.sweeps = {{2, {{Bytes{1} << 26, 0.03}, {Bytes{1} << 28, 0.12}}}}, .copies = {}},
                {});
  StepOptions options;
  options.batch = 4;
  const auto result = compare(build_model("gpt2"), {find_machine("2x-rtx3090-pcie"), measured}, options);
  EXPECT_EQ(result.answer.verdict, Verdict::helps) << "2.2 GB/s are less than usual";
  EXPECT_EQ(result.answer.better, "2x-rtx3090-pcie (1)");
  EXPECT_EQ(result.remedies_on, "2x-rtx3090-pcie (2)");
}

TEST(Compare, an_nccl_that_nobody_stated_is_named_and_lies_in_the_range) {
  const std::vector<std::string> on = {"4x-a6000-nvlink", "4x-a6000-pcie"};
  const auto answer = ask("bert-large", 8, on).answer;
  const auto version_of = [](const Answer& one) {
    std::optional<OtherVersion> found;
    for (const Otherwise& other : one.otherwise)
      if (const auto* version = std::get_if<OtherVersion>(&other.what)) found = *version;
    return found;
  };
  ASSERT_TRUE(version_of(answer));
  EXPECT_EQ(version_of(answer)->since, 223);
  StepOptions options;
  options.batch = 8;
  options.overlap = true;
  options.nccl.version = 222;
  const auto stated =
      compare(build_model("bert-large"), {find_machine(on[0]), find_machine(on[1])}, options).answer;
  EXPECT_FALSE(version_of(stated));
  EXPECT_GT(std::abs(stated.speedup / answer.speedup - 1), 0.05);
  EXPECT_LE(answer.low, stated.speedup);
  EXPECT_GE(answer.high, stated.speedup);
}

// Only the low end: over direct links more hides than through host memory.
TEST(Compare, the_range_covers_that_host_memory_hides_too) {
  const auto gpt2 = build_model("gpt2");
  const std::vector machines = {find_machine("2x-rtx3090-nvlink"), find_machine("2x-rtx3090-pcie")};
  StepOptions options;
  options.batch = 8;
  options.overlap = true;
  options.anchor = Anchor{.step = 0.4, .batch = 8};
  StepModel hides;
  hides.constants.slowdown_host = hides.constants.slowdown_direct;
  const auto answer = compare(gpt2, machines, options).answer;
  const auto if_it_hides = compare(gpt2, machines, options, hides).answer;
  EXPECT_LT(if_it_hides.speedup, answer.speedup);
  EXPECT_LT(answer.low, if_it_hides.speedup);
}

}  // namespace
}  // namespace gradwire
