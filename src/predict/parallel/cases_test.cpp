// What records of parallel training become before they are priced.
#include "predict/parallel/cases.h"

#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "predict/parallel/frameworks.h"
#include "predict/parallel/validation.h"

namespace gradwire {
namespace {

// 8 nodes of 8 A100 over 16 cards of RoCE, ZeRO-3 over all.
Record sharded_run() {
  for (auto& record : built_in_parallel_records())
    if (record.id == "mosaic-a100-80-70b-s2048-g64-b2048") return record;
  throw ConfigError("the run is gone from presets/measured/parallel.jsonl");
}

Record on_one_node(Record record) {
  record.parallel->nodes = 1;
  record.parallel->dp = 8;
  record.node.network.reset();
  return record;
}

// The same run measured twice, with something else the second time.
template <typename Change>
std::vector<Record> twice(Record first, Change change) {
  auto second = first;
  first.id = "first", second.id = "second";
  change(second);
  return {first, second};
}

std::vector<Differs> ratios_of(const std::vector<Record>& records) {
  std::vector<Differs> found;
  for (const auto& ratio : validate_parallel(records, {}).ratios) found.push_back(ratio.what);
  return found;
}

// Both are of one platform and GPU, so nothing but the links may tell their machines apart.
void expect_a_pair_of_links(const std::vector<Record>& records) {
  const auto cases = parallel_cases(records).cases;
  ASSERT_EQ(cases.size(), 2u);
  EXPECT_LT(1.01 * cases[0].problem.wires.gather_forward, cases[1].problem.wires.gather_forward);
  EXPECT_EQ(ratios_of(records), std::vector{Differs::link});
}

TEST(ParallelCases, of_one_platform_that_differ_in_the_network_are_priced_on_two_machines) {
  expect_a_pair_of_links(twice(sharded_run(), [](Record& run) { run.node.network->nics_per_node = 4; }));
  auto stated = sharded_run();
  stated.node.network->gpudirect = true;
  expect_a_pair_of_links(twice(stated, [](Record& run) { run.node.network->gpudirect = false; }));
  expect_a_pair_of_links(
      twice(sharded_run(), [](Record& run) { run.node.network->kind = NetworkKind::ethernet; }));
}

TEST(ParallelCases, of_one_platform_that_differ_inside_the_node_are_priced_on_two_machines) {
  const auto without_nvlink = [](Record& run) {
    run.node.intra = Intra::pcie;
    run.node.nvlink_gen = run.node.nvlink_links_per_gpu = run.node.nvlink_links_per_pair = std::nullopt;
  };
  expect_a_pair_of_links(twice(on_one_node(sharded_run()), without_nvlink));
  auto pcie = on_one_node(sharded_run());
  without_nvlink(pcie);
  expect_a_pair_of_links(twice(pcie, [](Record& run) { run.node.p2p = false; }));
}

TEST(ParallelCases, differ_in_no_links_that_one_of_them_does_not_use_or_state) {
  const auto all = sharded_run(), node = on_one_node(all);
  EXPECT_FALSE(links_differ(stated_links(all), stated_links(node))) << "one node has no network";
  auto silent = all;
  silent.node.p2p.reset();
  silent.node.network->kind.reset();
  EXPECT_FALSE(links_differ(stated_links(all), stated_links(silent))) << "null is not stated";
  auto one = node;
  one.parallel->gpus_per_node = one.parallel->dp = 1;
  one.node.intra = Intra::pcie;
  EXPECT_FALSE(links_differ(stated_links(node), stated_links(one))) << "one GPU sends nothing";
}

TEST(PlanSets, hold_no_layouts_of_other_links) {
  const auto split = [](Record& run) { run.parallel->dp = 32, run.parallel->tp = 2; };
  EXPECT_EQ(validate_parallel(twice(sharded_run(), split), {}).sets.size(), 1u);
  const auto split_elsewhere = [&](Record& run) {
    split(run);
    run.node.network->nics_per_node = 4;
  };
  EXPECT_TRUE(validate_parallel(twice(sharded_run(), split_elsewhere), {}).sets.empty());
}

TEST(ParallelCases, compare_by_their_rates_where_a_step_is_not_stated) {
  auto records = twice(sharded_run(), [](Record& run) {
    run.parallel->nodes = 4;
    run.parallel->dp = 32;
    run.parallel->step.reset();
    run.parallel->value = 400;
  });
  records[0].parallel->value = 380;
  const auto result = validate_parallel(records, {});
  ASSERT_EQ(result.ratios.size(), 1u);
  EXPECT_DOUBLE_EQ(result.ratios[0].measured, 380.0 / 400);
  EXPECT_EQ(result.points.size(), 1u) << "its step is not predicted";
  EXPECT_TRUE(result.points[0].others.empty()) << "nor given to another";
  EXPECT_TRUE(result.asked.left_out.contains("second"));
  records[1].parallel->metric = ParallelMetric::samples_per_s;
  EXPECT_TRUE(ratios_of(records).empty()) << "of two kinds";
}

// How arithmetic was counted is not stated, so it may hold what is computed again.
TEST(ParallelCases, do_not_compare_by_arithmetic_where_a_token_takes_more_of_it) {
  auto records = twice(sharded_run(), [](Record& run) { run.parallel->recompute = Recompute::none; });
  EXPECT_EQ(ratios_of(records), std::vector{Differs::recomputation});
  for (auto& record : records) {
    record.parallel->step.reset();
    record.parallel->metric = ParallelMetric::tflops_per_gpu;
  }
  EXPECT_TRUE(ratios_of(records).empty());
}

TEST(ParallelCases, without_a_batch_have_as_many_micro_batches_as_is_usual) {
  auto record = sharded_run();
  record.parallel->global_batch.reset();
  EXPECT_TRUE(parallel_cases({&record, 1}).cases.empty()) << "a step of an unknown batch";
  record.parallel->step.reset();
  const auto run = parallel_cases({&record, 1}).cases.at(0);
  EXPECT_EQ(run.layout.micro_batches, 2);
  EXPECT_NE(std::ranges::find(run.unstated, Unstated::batch), run.unstated.end());
}

TEST(ParallelCases, share_parameters_as_their_framework_does) {
  auto record = sharded_run();
  const auto layout_in = [&](const char* framework) {
    record.parallel->framework = framework;
    return parallel_cases({&record, 1}).cases.at(0).layout;
  };
  EXPECT_EQ(layout_in("megatron-lm with deepspeed zero-3").kept_parameters, 1e9);
  EXPECT_EQ(layout_in("llm-foundry, pytorch fsdp").kept_parameters, FrameworkHabits{}.kept_parameters);
  record.parallel->shard = 1;
  EXPECT_TRUE(layout_in("internevo 0.2").whole_tensors);
  EXPECT_EQ(layout_in("deepspeed"), layout_in("megatron-lm 2.4")) << "one plan where nothing is gathered";
}

}  // namespace
}  // namespace gradwire
