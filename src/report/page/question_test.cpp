#include "report/page/question.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <nlohmann/json.hpp>

#include "base/error.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

std::string error_of(const std::string& json) {
  try {
    parse_question(json);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(Question, is_read_as_it_was_written) {
  const auto json = nlohmann::json::parse(
      R"({"model": "gpt2", "machines": ["dgx-a100", {"name": "2*box.txt:rtx3090@10gbe", "matrix": "GPU0"}],
          "batch": 16, "bucket_mb": 12.5, "precision": "bf16", "compress": "powersgd", "no_overlap": true,
          "env": {"NCCL_P2P_DISABLE": "1"}, "sweep": "batch=8,16"})");
  EXPECT_EQ(question_json(parse_question(json.dump())), json);
}

TEST(Question, the_gpu_of_a_matrix_stands_where_the_command_has_it) {
  const auto question = parse_question(
      R"({"model": "gpt2", "machines": [{"name": "2*box.txt@10gbe", "matrix": "x", "gpu": "rtx3090"}]})");
  EXPECT_EQ(question.machines[0].name, "2*box.txt:rtx3090@10gbe");
}

TEST(Question, as_a_command_line_says_the_same) {
  const auto question = parse_question(
      R"({"model": "gpt2", "machines": ["2*1x-rtx3090@10gbe"], "batch": 16, "bucket_mb": 12.5, "no_overlap": true,
          "env": {"NCCL_P2P_DISABLE": "1"}})");
  EXPECT_EQ(command_of(question),
            "NCCL_P2P_DISABLE=1 gradwire compare gpt2 --on '2*1x-rtx3090@10gbe' --batch 16 --bucket-mb 12.5 "
            "--no-overlap");
  EXPECT_EQ(quoted_word("it's; rm -rf"), "'it'\\''s; rm -rf'");
}

TEST(Question, what_cant_be_asked_is_refused_by_name) {
  EXPECT_THAT(error_of("[]"), HasSubstr("a JSON object"));
  EXPECT_THAT(error_of("{\"model\": "), HasSubstr("a JSON object"));
  EXPECT_THAT(error_of(R"({"machines": ["dgx-a100"]})"), HasSubstr("model is missing"));
  EXPECT_THAT(error_of(R"({"model": "gpt2"})"), HasSubstr("machines is missing"));
  EXPECT_THAT(error_of(R"({"model": "gpt2", "machines": [], "batch": 1})"), HasSubstr("1 to 16 machines"));
  EXPECT_THAT(error_of(R"({"model": "gpt2", "machines": ["a"], "batch": 0})"), HasSubstr("batch"));
  EXPECT_THAT(error_of(R"({"model": "gpt2", "machines": ["a"], "batch": 1.5})"), HasSubstr("whole number"));
  EXPECT_THAT(error_of(R"({"model": "gpt2", "machines": ["a"], "bucket_mb": -1})"), HasSubstr("bucket_mb"));
  EXPECT_THAT(error_of(R"({"model": "gpt2", "machines": ["a"], "wheels": 4})"), HasSubstr("no 'wheels'"));
}

}  // namespace
}  // namespace gradwire
