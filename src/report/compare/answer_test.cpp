// What an answer of `compare` says in words.
#include <fmt/format.h>
#include <gmock/gmock.h>

#include "predict/compare/asked_fixture.h"
#include "report/compare/compare.h"

namespace gradwire {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string sentence(const Comparison& comparison) {
  return sentence_of(comparison.workload.name, comparison.answer);
}

std::string reason(const Comparison& comparison) { return reason_of(comparison.answer); }

Comparison with(const char* model, const std::vector<std::string>& on, const StepOptions& options) {
  std::vector<Machine> machines;
  for (const auto& name : on) machines.push_back(find_machine(name));
  return compare(build_model(model), machines, options);
}

TEST(Answer, says_what_the_gpu_does_and_what_the_link_does) {
  EXPECT_THAT(sentence(ask("gpt2", 4, {"dgx-a100", "8x-v100-pcie"})),
              AllOf(HasSubstr("the link alone"), HasSubstr("link 1.3")));
}

TEST(Answer, says_what_more_gpus_give_and_what_the_link_takes_of_it) {
  EXPECT_THAT(sentence(ask("resnet50", 64, {"2*dgx-h100@ndr", "dgx-h100"})),
              HasSubstr("twice the GPUs, of which the link takes next to nothing"));
  EXPECT_THAT(sentence(ask("bert-large", 8, {"2*dgx-h100@ndr", "dgx-h100"})),
              HasSubstr("twice the GPUs, of which the link takes 2 % (0 to 10)"));
  EXPECT_THAT(sentence(ask("gpt2", 4, {"1x-rtx3090", "2x-rtx3090-pcie"})),
              AllOf(HasSubstr("2x-rtx3090-pcie over 1x-rtx3090 gives 1."),
                    HasSubstr("): twice the GPUs, of which the link takes"), Not(HasSubstr("but"))));
  EXPECT_THAT(sentence(ask("gpt2", 4, {"dgx-a100", "3*dgx-a100"})), HasSubstr("3 times the GPUs"));
}

TEST(Answer, holds_no_two_buts) {
  for (const auto& on : {std::vector<std::string>{"2x-a100-pcie-nvlink", "2x-v100-sxm-pcie"},
                         {"1x-a100-pcie", "2x-rtx3090-pcie"},
                         {"1x-h100-pcie", "4x-v100-sxm-nvlink"}}) {
    const auto said = sentence(ask("resnet50", 64, on));
    const auto but = said.find("but ");
    EXPECT_TRUE(but == std::string::npos || said.find("but ", but + 1) == std::string::npos) << said;
  }
}

TEST(Answer, says_that_the_same_machine_twice_is_that) {
  EXPECT_THAT(sentence(ask("gpt2", 4, {"dgx-a100", "dgx-a100"})), HasSubstr("are the same machine"));
}

TEST(Answer, is_as_sure_as_its_range) {
  EXPECT_THAT(sentence(ask("resnet50", 64, {"2x-v100-sxm-nvlink", "2x-rtx2080ti-pcie"})),
              HasSubstr("Probably for resnet50"));
  EXPECT_THAT(sentence(ask("gpt2", 4, {"2x-rtx3090-pcie"})), HasSubstr(" h saved of every 24"));
}

TEST(Answer, names_the_way_that_gradients_take) {
  StepOptions options;
  options.batch = 4;
  EXPECT_THAT(reason(with("gpt2", {"2x-a100-pcie-nvlink", "2x-rtx3090-pcie"}, options)),
              HasSubstr("through host memory"));
  options.backend = Backend::gloo;
  EXPECT_THAT(reason(with("gpt2", {"2x-rtx3090-nvlink"}, options)), HasSubstr("gloo through host memory"));
  EXPECT_THAT(reason(with("gpt2", {"2x-rtx3090-nvlink", "2x-rtx3090-pcie"}, options)), HasSubstr("on both"));
}

// The founding question, four bridges in a box of eight.
TEST(Answer, says_which_load_the_better_links_take_off) {
  StepOptions options;
  options.batch = 4;
  EXPECT_THAT(reason(compare(build_model("bert-large"),
                             {box_of_eight(Intra::nvlink_pairs), box_of_eight(Intra::pcie)}, options)),
              HasSubstr("every byte crosses a GPU's PCIe slot, both ways twice, here once"));
}

TEST(Answer, says_why_a_ring_leaves_nvlink_that_joins_only_some) {
  EXPECT_THAT(
      reason(ask("gpt2", 4, {"3x-rtx3090-nvlink", "3x-rtx3090-pcie"})),
      HasSubstr("NVLink joins no more than 2 of the 3 GPUs of 3x-rtx3090-nvlink, and a ring needs all: it "
                "crosses host memory"));
  for (const char* on : {"2x-rtx3090-nvlink", "3x-rtx3090-pcie", "dgx-1", "dgx-a100"})
    EXPECT_THAT(reason(ask("gpt2", 4, {on})), Not(HasSubstr("no more than"))) << on;
}

TEST(Answer, names_what_nobody_stated_and_what_is_so_if_it_is_otherwise) {
  const auto slots = ask("gpt2", 4, {"2x-rtx3090-nvlink", "2x-rtx3090-pcie"}).answer;
  ASSERT_FALSE(slots.otherwise.empty());
  EXPECT_THAT(reason_of(slots), HasSubstr(fmt::format("; slots are taken as x8 each, with x16 {:.2f}x",
                                                      slots.otherwise[0].gain)));
  EXPECT_THAT(reason(ask("bert-large", 8, {"4x-a6000-nvlink", "4x-a6000-pcie"})),
              HasSubstr("NCCL is taken as 2.28, before 2.23 "));
}

TEST(Answer, says_that_networks_are_taken_to_have_different_numbers_of_cards) {
  const auto notes = [](const char* other) {
    return warnings_of(ask("bert-large", 8, {"4*dgx-h100@ndr", other}));
  };
  EXPECT_THAT(notes("4*dgx-h100@100gbe"),
              ElementsAre("a node of 4*dgx-h100@ndr has 8 network cards in this, one of 4*dgx-h100@100gbe 1; "
                          "@8x-100gbe is as many"));
  EXPECT_THAT(notes("4*dgx-h100@8x-100gbe"), IsEmpty());
  EXPECT_THAT(notes("4*dgx-h100@1x-100gbe"), IsEmpty()) << "stated";
}

TEST(Answer, says_when_nothing_is_sent) {
  StepOptions options;
  options.distribution = Distribution::none;
  EXPECT_THAT(reason(with("gpt2", {"2x-rtx3090-nvlink", "2x-rtx3090-pcie"}, options)),
              HasSubstr("ranks that are not synchronised send nothing"));
  EXPECT_THAT(reason(ask("resnet50", 32, {"1x-rtx3090-pcie", "1x-rtx4090-pcie"})),
              HasSubstr("one GPU sends nothing"));
}

TEST(Answer, says_how_much_is_sent_and_how_long_that_takes) {
  StepOptions options;
  options.batch = 4;
  const auto one = with("gpt2", {"2x-rtx3090-pcie"}, options);
  EXPECT_THAT(reason(one), HasSubstr("sends 498 MB of gradients; "));
  EXPECT_THAT(reason(one), HasSubstr(fmt::format("that takes {:.0f} ms", 1e3 * one.answer.on_worse.taken())));
  options.compression = Compression::powersgd;
  EXPECT_THAT(reason(with("vgg16", {"2x-rtx3090-pcie"}, options)), Not(HasSubstr(" 0 MB")));
}

TEST(Answer, is_taken_with_what_speaks_against_it) {
  const auto said = warnings_of(ask("llama-70b", 1, {"dgx-h100"}, Precision::bf16));
  ASSERT_EQ(said.size(), 1u);
  EXPECT_THAT(said[0], HasSubstr("weights, gradients and optimizer take 1051 GiB, it has 80"));
  EXPECT_THAT(warnings_of(ask("gpt2", 4096, {"dgx-a100"}))[0],
              HasSubstr("a batch of 4096 of gpt2 does not fit"));
  const auto once = warnings_of(ask("bert-large", 512, {"2x-rtx3090-nvlink", "2x-rtx3090-pcie", "dgx-a100"}));
  ASSERT_EQ(once.size(), 2U) << "of equal GPUs it is said once";
  EXPECT_THAT(once[0],
              AllOf(HasSubstr("a GPU of 2x-rtx3090-nvlink or 2x-rtx3090-pcie: "), HasSubstr(" GiB and ")));
  StepOptions options;
  options.batch = 4;
  options.anchor = Anchor{.step = 0.2, .batch = 4};
  EXPECT_THAT(warnings_of(with("gpt2", {"2x-a100-pcie-nvlink", "2x-rtx3090-pcie"}, options))[0],
              HasSubstr("the links alone are compared"));
}

TEST(Answer, says_the_same_cost_in_the_same_words_however_long_the_step) {
  StepOptions options;
  options.batch = 4;
  const auto words = [&](int accumulate) {
    options.accumulate = accumulate;
    const auto said = reason(with("gpt2-medium", {"2x-rtx3090-nvlink", "2x-rtx3090-pcie"}, options));
    return said.substr(0, said.find("; there"));
  };
  EXPECT_EQ(words(1), words(8));
}

}  // namespace
}  // namespace gradwire
