#include "report/compare/compare.h"

#include <gmock/gmock.h>

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "predict/workload/catalog.h"
#include "report/render.h"
#include "report/terminal.h"

namespace gradwire {
namespace {

using ::testing::AnyOf;
using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::Not;
using ::testing::ThrowsMessage;

void expect_to_fit(const std::string& text) {
  for (const auto line : split(text, '\n')) EXPECT_LE(display_width(line), kTerminalWidth) << line;
}

std::string text_of(const Comparison& comparison, bool verbose = false) {
  return to_text(comparison_report(comparison, verbose));
}

std::string sweep_text(const std::vector<SweepCurve>& curves, const SweepSpec& spec,
                       const Workload& workload) {
  return to_text(sweep_report(curves, spec, workload));
}

const std::vector<Machine>& three() {
  static const std::vector<Machine> machines = {find_machine("2*2x-titan-rtx-nvlink@10gbe"),
                                                find_machine("2*2x-titan-rtx-pcie@10gbe"),
                                                find_machine("dgx-h100")};
  return machines;
}

TEST(CompareText, three_machines_with_long_names_fit_a_terminal) {
  StepOptions options;
  options.batch = 4;
  options.data = 0.003;
  const auto comparison = compare(build_model("gpt2"), three(), options);
  const auto text = text_of(comparison, true);
  expect_to_fit(text);
  EXPECT_THAT(text, HasSubstr("comm costs"));
  EXPECT_THAT(text, HasSubstr("narrowest: network: 1 x 10 Gbit"));
  EXPECT_THAT(text, HasSubstr("What all-reduce times rest on"));
}

TEST(CompareText, two_machines_are_answered_on_one_screen) {
  for (const auto& [on, other] :
       {std::pair("2x-rtx3090-nvlink", "2x-rtx3090-pcie"), std::pair("8x-a100-pcie", "dgx-a100"),
        std::pair("2*2x-titan-rtx-nvlink@10gbe", "4x-rtx4090-pcie-pxb"),
        std::pair("dgx-h100", "8x-l40s-pcie")})
    for (const char* model : {"gpt2", "resnet50", "bert-large"}) {
      StepOptions options;
      options.batch = 4;
      const auto text =
          text_of(compare(build_model(model), {find_machine(on), find_machine(other)}, options));
      expect_to_fit(text);
      EXPECT_LE(std::ranges::count(text, '\n'), 24) << text;
    }
}

TEST(CompareText, a_long_answer_leaves_out_what_verbose_has) {
  const auto comparison =
      compare(build_model("gpt2-medium"),
              {find_machine("8x-rtx2080ti-nvlink"), find_machine("8x-rtx2080ti-pcie")}, StepOptions{});
  const auto text = text_of(comparison);
  expect_to_fit(text);
  EXPECT_LE(std::ranges::count(text, '\n'), 24) << text;
  EXPECT_THAT(text, HasSubstr("What else would help"));
  EXPECT_THAT(text_of(comparison, true), HasSubstr("Where it turns"));
}

TEST(CompareText, a_sweep_over_three_machines_fits_a_terminal) {
  const auto spec = parse_sweep("gpus=1..64");
  const auto model = build_model("gpt2");
  expect_to_fit(sweep_text(sweep(model, three(), {}, spec), spec, model));
}

TEST(CompareText, says_what_a_sweep_left_out) {
  const auto spec = parse_sweep("gpus=1..8");
  const auto model = build_model("gpt2");
  const auto text = sweep_text(sweep(model, {find_machine("2x-rtx3090-pcie")}, {}, spec), spec, model);
  expect_to_fit(text);
  EXPECT_THAT(text, HasSubstr("\n-: 2x-rtx3090-pcie has 2 GPUs;"));
  EXPECT_THAT(text, HasSubstr("over GPUs (both axes logarithmic)"));
}

TEST(CompareText, refuses_a_sweep_of_sizes_that_no_machine_can_have) {
  const auto spec = parse_sweep("gpus=4..8");
  const auto model = build_model("gpt2");
  EXPECT_THAT([&] { sweep_text(sweep(model, {find_machine("2x-rtx3090-pcie")}, {}, spec), spec, model); },
              ThrowsMessage<ConfigError>(HasSubstr("can have any of these: 2x-rtx3090-pcie has 2 GPUs;")));
}

TEST(CompareText, says_what_a_link_stands_for) {
  EXPECT_THAT(assumption_of(Axis::link), HasSubstr("20 us for an all-reduce to begin"));
  EXPECT_EQ(assumption_of(Axis::batch), "");
}

TEST(CompareText, says_what_host_memory_rests_on) {
  const auto model = build_model("gpt2");
  const auto text = text_of(compare(model, {find_machine("2x-rtx3090-pcie")}, {}), true);
  EXPECT_THAT(text, ContainsRegex("overlap[ \n]is[ \n]taken[ \n]to[ \n]hide[ \n]nothing"));
  EXPECT_THAT(text, HasSubstr("fp32 (without TF32)"));
  EXPECT_THAT(text_of(compare(model, {find_machine("dgx-1")}, {}), true),
              Not(AnyOf(HasSubstr("RTX 4090"), HasSubstr("TF32"))));
}

TEST(CompareText, counts_the_remedies_that_a_screen_has_no_room_for) {
  const auto comparison =
      compare(build_model("gpt2"), {find_machine("2x-rtx3090-nvlink"), find_machine("2x-rtx3090-pcie")}, {});
  ASSERT_GT(comparison.remedies.size(), 3u);
  EXPECT_THAT(text_of(comparison),
              HasSubstr(fmt::format("{} more remedies with --verbose, and how sure that is",
                                    comparison.remedies.size() - 3)));
  EXPECT_THAT(text_of(comparison, true), Not(HasSubstr("more remedies")));
}

TEST(CompareText, begins_with_what_the_answer_can_not_be_read_without) {
  auto comparison = compare(build_model("gpt2"), {find_machine("2x-rtx3090-pcie")}, {});
  comparison.premise = cpu_premise("cpu.json");
  EXPECT_TRUE(
      text_of(comparison).starts_with("cpu.json has no work of a GPU: a CPU computed it. A GPU is done "))
      << text_of(comparison);
  EXPECT_EQ(comparison_json(comparison)["warnings"][0], comparison.premise);
}

TEST(CompareText, rates_below_one_have_two_digits) {
  const auto text = text_of(compare(build_model("llama-70b"), {find_machine("2x-rtx3090-pcie")}, {}));
  EXPECT_THAT(text, ContainsRegex(" 0[.][0-9][0-9] ")) << text;
}

TEST(CompareText, files_are_named_without_their_folders_unless_that_mixes_them_up) {
  using Names = std::vector<std::string>;
  EXPECT_EQ(without_folders({"dgx-a100", "2*boxes/a.txt:rtx3090@10gbe"}),
            (Names{"dgx-a100", "2*a.txt:rtx3090@10gbe"}));
  EXPECT_EQ(without_folders({"x/one/a.txt", "/y/two/a.txt"}), (Names{"one/a.txt", "two/a.txt"}));
  EXPECT_EQ(without_folders({"x/one/a.txt", "/x/one/a.txt"}), (Names{"x/one/a.txt", "/x/one/a.txt"}));
  EXPECT_EQ(without_folders({"a/b.txt", "a/b.txt", "b.txt"}), (Names{"a/b.txt", "a/b.txt", "b.txt"}));
}

TEST(CompareText, says_what_the_environment_tells_nccl) {
  StepOptions options;
  options.nccl = nccl_settings({{"NCCL_P2P_DISABLE", "1"}});
  const auto comparison = compare(build_model("gpt2"), {find_machine("2x-rtx3090-nvlink")}, options);
  EXPECT_THAT(text_of(comparison), HasSubstr("Note: the environment sets NCCL_P2P_DISABLE=1: "));
  EXPECT_THAT(comparison_json(comparison)["machines"][0]["assumed"].back().get<std::string>(),
              HasSubstr("NCCL_P2P_DISABLE=1"));
}

TEST(CompareText, a_sweep_marks_what_does_not_fit) {
  const auto spec = parse_sweep("batch=8,512");
  const auto model = build_model("bert-large");
  const auto text = sweep_text(sweep(model, {find_machine("2x-rtx3090-pcie")}, {}, spec), spec, model);
  EXPECT_THAT(text, HasSubstr(" %*\n"));
  EXPECT_THAT(text, HasSubstr("*: does not fit the GPU's memory"));
}

TEST(CompareText, counts_in_plurals) {
  EXPECT_EQ(plural("batch"), "batches");
  EXPECT_EQ(plural("image"), "images");
}

}  // namespace
}  // namespace gradwire
