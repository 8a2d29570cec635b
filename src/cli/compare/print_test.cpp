#include "cli/compare/print.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/text.h"
#include "predict/workload/catalog.h"
#include "report/wrap.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;

void expect_to_fit(const std::string& text) {
  for (const auto line : split(text, '\n')) EXPECT_LE(display_width(line), kTerminalWidth) << line;
}

const std::vector<Machine>& three() {
  static const std::vector<Machine> machines = {find_machine("2*2x-titan-rtx-nvlink@10gbe"),
                                                find_machine("2*2x-titan-rtx-pcie@10gbe"),
                                                find_machine("dgx-h100")};
  return machines;
}

TEST(CompareText, ThreeMachinesWithLongNamesFitATerminal) {
  StepOptions options;
  options.batch = 4;
  options.data = 0.003;
  const auto text = comparison_text(compare(build_model("gpt2"), three(), options));
  expect_to_fit(text);
  EXPECT_THAT(text, HasSubstr("comm costs"));
  EXPECT_THAT(text, HasSubstr("narrowest: network"));
}

TEST(CompareText, ASweepOverThreeMachinesFitsATerminal) {
  const auto spec = parse_sweep("gpus=1..64");
  const auto model = build_model("gpt2");
  expect_to_fit(sweep_text(sweep(model, three(), {}, spec), spec, model));
}

TEST(CompareText, CountsInPlurals) {
  EXPECT_EQ(plural("batch"), "batches");
  EXPECT_EQ(plural("image"), "images");
}

}  // namespace
}  // namespace gradwire
