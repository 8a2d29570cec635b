// What is known of splitting models against what the search finds.
#include "predict/parallel/search.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "topo/import/machine_file.h"

namespace gradwire {
namespace {

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
      if (traffic.kind == TrafficKind::tensor) {
        EXPECT_EQ(path_name(traffic.way), "NVLink through NVSwitch");
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
  ASSERT_TRUE(answer.would_fit.has_value());
  EXPECT_GT(answer.would_fit->nodes.value(), 1);
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
        EXPECT_LE(traffic.shown, traffic.time) << model << " on " << on << ": " << int(traffic.kind);
}

TEST(Plans, take_what_the_environment_tells_nccl) {
  PlanQuestion question;
  question.shape = transformer_sizes("gpt2-xl");
  question.dp = 2;
  const auto machine = find_machine("2x-rtx3090-nvlink");
  const auto usual = make_plans(question, machine).plans.front();
  EXPECT_EQ(path_name(usual.traffic.front().way), "NVLink");
  question.nccl = nccl_settings({{"NCCL_P2P_DISABLE", "1"}});
  const auto told = make_plans(question, machine).plans.front();
  EXPECT_EQ(path_name(told.traffic.front().way), "host memory");
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

PlannedStep gpt2_on(const char* on, std::optional<StepOnOneGpu> measured) {
  PlanQuestion question;
  question.shape = transformer_sizes("gpt2");
  const auto machine = find_machine(on);
  question.batch = 4 * static_cast<int>(machine.gpus.size());
  question.tp = question.pp = 1, question.shard = 0, question.micro_batch = 4;
  question.recompute = Recompute::none;
  question.measured = measured;
  return make_plans(question, machine).plans.front();
}

TEST(Plans, take_as_long_on_one_gpu_as_was_measured_there) {
  for (const Seconds step : {0.05, 0.2})
    EXPECT_NEAR(gpt2_on("1x-a100-sxm-80-nvswitch", StepOnOneGpu{step, 4}).step, step, 0.01 * step);
}

TEST(Plans, compute_as_was_measured_and_send_as_before) {
  const auto estimated = gpt2_on("2x-rtx3090-nvlink", {}),
             measured = gpt2_on("2x-rtx3090-nvlink", StepOnOneGpu{0.2, 4});
  EXPECT_FALSE(estimated.layout.pace);
  ASSERT_TRUE(measured.layout.pace);
  EXPECT_NEAR(measured.parts.compute, *measured.layout.pace * estimated.parts.compute, 1e-9);
  EXPECT_EQ(measured.traffic.at(0).time, estimated.traffic.at(0).time);
  EXPECT_EQ(measured.parts.optimizer, estimated.parts.optimizer);
}

TEST(Plans, are_surer_of_a_step_whose_computing_was_measured) {
  const auto estimated = gpt2_on("dgx-a100", {}), measured = gpt2_on("dgx-a100", StepOnOneGpu{0.1, 4});
  EXPECT_LT(measured.high / measured.low, 0.95 * estimated.high / estimated.low);
}

}  // namespace
}  // namespace gradwire
