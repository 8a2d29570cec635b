#include <gmock/gmock.h>

#include "report/validate/validate.h"

namespace gradwire {
namespace {

using ::testing::ElementsAre;

TEST(ValidationWords, of_a_doubt_are_its_note_and_what_arithmetic_shows) {
  Doubt doubt{.above_linear = AboveLinear{2, 1.15}, .far_off = ValidationPoint{}};
  doubt.far_off->point = "8 bytes", doubt.far_off->measured = 20, doubt.far_off->predicted = 10;
  EXPECT_EQ(to_words(doubt), "2 GPUs at 115 % of linear; 8 bytes: measured 2 times the predicted time");
  EXPECT_EQ(to_words(Doubt{.note = "slow disk", .remark = "and old"}), "slow disk; and old");
  EXPECT_EQ(to_words(Doubt{}), "the record does not say why");
}

TEST(ValidationWords, say_what_stands_in_where_a_record_is_silent) {
  using Unstated = UnstatedTraining;
  const Assumed assumed{.of_machine = {"the GPU is not stated"},
                        .of_training = {Unstated::parameters, Unstated::layers, Unstated::samples,
                                        Unstated::precision, Unstated::gradients},
                        .parameters = 110'000'000,
                        .layers = "a stand-in",
                        .samples = 8,
                        .gradient_bytes = 2};
  EXPECT_THAT(sentences_of(assumed),
              ElementsAre("the GPU is not stated", "parameters are not stated: taken as 110 million",
                          "the model's layers are not known: a stand-in",
                          "samples of a step are not stated: taken as 8 a GPU",
                          "precision is not stated: taken as fp32",
                          "the type of gradients is not stated: taken as 2 bytes each"));
}

TEST(ValidationWords, say_what_was_not_read_and_then_what_was_not_predicted) {
  Validation validation;
  validation.unread = {"a.jsonl:3: no record"};
  validation.skipped = {{"b", Unpredicted::one_gpu}, {"c", Unpredicted::refused, "no such GPU"}};
  EXPECT_THAT(unpredicted_words(validation),
              ElementsAre("a.jsonl:3: no record", "b: one GPU alone sends nothing", "c: no such GPU"));
}

}  // namespace
}  // namespace gradwire
