#include "predict/compare/sweep.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "predict/compare/asked_fixture.h"

namespace gradwire {
namespace {

TEST(Sweep, marks_what_does_not_fit) {
  const auto curves =
      sweep(build_model("bert-large"), {find_machine("2x-rtx3090-pcie")}, {}, parse_sweep("batch=8,512"));
  EXPECT_TRUE(curves.at(0).points.at(0).fits);
  EXPECT_FALSE(curves.at(0).points.at(1).fits);
}

TEST(Sweep, reads_ranges_and_lists) {
  EXPECT_EQ(parse_sweep("gpus=1..8").values, (std::vector<double>{1, 2, 4, 8}));
  EXPECT_EQ(parse_sweep("batch=8,32").values, (std::vector<double>{8, 32}));
  EXPECT_EQ(parse_sweep("gpus=1..6").values, (std::vector<double>{1, 2, 4, 6}));
  for (const auto* text : {"gpus", "speed=1..2", "gpus=0..4", "gpus=8..1", "batch=x", "link="})
    EXPECT_THROW(parse_sweep(text), ConfigError) << text;
}

TEST(Sweep, more_bandwidth_never_hurts) {
  const auto curves =
      sweep(build_model("gpt2"), {find_machine("4x-rtx3090-pcie")}, {}, parse_sweep("link=1..256"));
  double before = 0;
  for (const auto& point : curves.at(0).points) {
    EXPECT_GE(point.estimate.samples_per_s, before);
    before = point.estimate.samples_per_s;
  }
}

TEST(Sweep, says_which_sizes_a_machine_can_have_where_some_are_left_out) {
  const auto model = build_model("resnet50");
  const std::vector machines = {find_machine("2x-rtx3090-pcie")};
  const auto curve = sweep(model, machines, {}, parse_sweep("gpus=1..8")).at(0);
  ASSERT_TRUE(curve.sizes.has_value());
  EXPECT_EQ(curve.sizes->gpus_per_node, 2);
  EXPECT_FALSE(curve.sizes->several_nodes);
  EXPECT_FALSE(sweep(model, machines, {}, parse_sweep("gpus=1..2")).at(0).sizes.has_value());
  EXPECT_TRUE(sweep(model, machines, {}, parse_sweep("gpus=4..8")).at(0).points.empty());
}

TEST(Sweep, leaves_out_what_a_machine_cannot_be) {
  const auto curves =
      sweep(build_model("resnet50"), {find_machine("dgx-a100")}, {}, parse_sweep("gpus=4,8,12,16"));
  std::vector<double> values;
  for (const auto& point : curves.at(0).points) values.push_back(point.value);
  EXPECT_EQ(values, (std::vector<double>{4, 8, 16}));
}

}  // namespace
}  // namespace gradwire
