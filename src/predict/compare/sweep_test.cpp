#include "predict/compare/sweep.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "predict/compare/asked_fixture.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

TEST(Sweep, marks_what_does_not_fit_and_says_what_a_link_stands_for) {
  const auto curves =
      sweep(build_model("bert-large"), {find_machine("2x-rtx3090-pcie")}, {}, parse_sweep("batch=8,512"));
  EXPECT_TRUE(curves.at(0).points.at(0).fits);
  EXPECT_FALSE(curves.at(0).points.at(1).fits);
  EXPECT_THAT(assumption_of(Axis::link), HasSubstr("20 us"));
  EXPECT_EQ(assumption_of(Axis::batch), "");
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

TEST(Sweep, says_why_a_machine_cannot_be_so_large) {
  const auto model = build_model("resnet50");
  const std::vector machines = {find_machine("2x-rtx3090-pcie")};
  EXPECT_THAT(sweep(model, machines, {}, parse_sweep("gpus=1..8")).at(0).note, HasSubstr("has 2 GPUs;"));
  EXPECT_EQ(sweep(model, machines, {}, parse_sweep("gpus=1..2")).at(0).note, "");
  EXPECT_THAT([&] { sweep(model, machines, {}, parse_sweep("gpus=4..8")); },
              ThrowsMessage<ConfigError>(HasSubstr("2x-rtx3090-pcie has 2 GPUs;")));
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
