// How `gradwire train` may be called, and what it says of flags that can't be.
#include <fmt/ranges.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "train_session.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(TrainUsage, says_which_flags_sharding_has_no_use_for) {
  for (const std::vector<std::string>& flags :
       {std::vector<std::string>{"--compress", "bf16"}, std::vector<std::string>{"--overlap", "after"}}) {
    std::vector<std::string> arguments = {"mlp", "-n", "2", "--shard", "3"};
    arguments.insert(arguments.end(), flags.begin(), flags.end());
    auto run = gradwire_train(arguments);
    EXPECT_EQ(run.finish(), 2);
    EXPECT_THAT(run.text(), HasSubstr("--shard with " + flags[0]));
  }
}

struct BadUse {
  std::vector<std::string> arguments;
  std::string words;
};

void PrintTo(const BadUse& use, std::ostream* out) {
  *out << fmt::format("{}", fmt::join(use.arguments, " "));
}

class BadTraining : public testing::TestWithParam<BadUse> {};

TEST_P(BadTraining, is_said_in_one_line_and_by_code_two) {
  auto run = gradwire_train(GetParam().arguments);
  EXPECT_EQ(run.finish(), 2);
  EXPECT_THAT(run.text(), HasSubstr(GetParam().words));
  EXPECT_LE(std::count(run.text().begin(), run.text().end(), '\n'), 2) << run.text();
}

INSTANTIATE_TEST_SUITE_P(
    TrainUsage, BadTraining,
    testing::Values(BadUse{{"resnet51"}, "'resnet51' is not a model: there are mlp, convnet"},
                    BadUse{{}, "model is missing"}, BadUse{{"mlp", "-n", "0"}, "-n 0"},
                    BadUse{{"mlp", "--batch", "-3"}, "--batch -3: write a number from 1"},
                    BadUse{{"mlp", "--steps", "0"}, "--steps 0"},
                    BadUse{{"mlp", "--precision", "f8"}, "there are fp32, fp64, bf16"},
                    BadUse{{"mlp", "--compress", "zip"}, "there are none, fp16, bf16, powersgd"},
                    BadUse{{"mlp", "--backend", "nosuch"}, "'nosuch' is not a backend"},
                    BadUse{{"gpt-tiny", "--sequence", "129"}, "--sequence 129: write a number from 1 to 128"},
                    BadUse{{"mlp", "--trace", "/nonesuch/t.json"}, "there is no folder /nonesuch"},
                    BadUse{{"mlp", "--on", "dgx-a100", "--steps", "3"}, "--steps has no meaning with --on"},
                    BadUse{{"mlp", "--resume", "/nonesuch"}, "there is no such file"},
                    BadUse{{"mlp", "-n", "2", "--tp", "2"}, "mlp is no transformer"},
                    BadUse{{"gpt-tiny", "-n", "3", "--pp", "2"}, "3 ranks can't be divided into models of 2"},
                    BadUse{{"gpt-tiny", "-n", "4", "--dp", "4", "--tp", "2"}, "are 8 ranks, and there are 4"},
                    BadUse{{"mlp", "--nonsense"}, "--nonsense"}));

TEST(TrainUsage, help_lists_the_models_and_has_examples) {
  auto run = gradwire_train({"--help"});
  EXPECT_EQ(run.finish(), 0);
  EXPECT_THAT(run.text(),
              AllOf(HasSubstr("gradwire train mlp -n 2"), HasSubstr("gpt2-xl"), HasSubstr("124.4 M")));
}

}  // namespace
}  // namespace gradwire
