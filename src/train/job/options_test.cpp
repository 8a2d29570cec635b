#include "train/job/options.h"

#include <gmock/gmock.h>

#include "base/error.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(TrainOptions, reach_a_rank_whatever_its_files_are_called) {
  TrainOptions options;
  options.steps = 7;
  for (int byte = 1; byte < 256; ++byte) options.checkpoint += static_cast<char>(byte);
  options.resume =
      "gr\xc3\xbc\xc3\x9f"
      "e.ckpt";
  const TrainOptions read = from_argument(to_argument(options));
  EXPECT_EQ(read.checkpoint, options.checkpoint);
  EXPECT_EQ(read.resume, options.resume);
  EXPECT_EQ(read.steps, 7);
}

TEST(TrainOptions, reach_a_rank_with_what_their_words_chose) {
  TrainOptions options;
  read_words({.backend = "none",
              .data = "generated",
              .precision = "f64",
              .compress = "powersgd",
              .optimizer = "adamw",
              .overlap = "after",
              .schedule = "gpipe"},
             options);
  const TrainOptions read = from_argument(to_argument(options));
  EXPECT_TRUE(read.backend.is_none());
  EXPECT_EQ(read.data, DataSource::generated);
  EXPECT_EQ(read.precision, Precision::fp64);
  EXPECT_EQ(read.compress, Compression::powersgd);
  EXPECT_EQ(read.optimizer, OptimizerKind::adamw);
  EXPECT_EQ(read.overlap, Overlap::after_backward);
  EXPECT_EQ(read.schedule, PipelineSchedule::gpipe);
  EXPECT_EQ(from_argument(to_argument({})).optimizer, OptimizerKind::models_own);
}

TEST(TrainOptions, a_backend_is_chosen_left_out_or_named) {
  using Kind = TrainBackend::Kind;
  EXPECT_EQ(parse_train_backend("auto").kind, Kind::automatic);
  EXPECT_EQ(parse_train_backend("none").kind, Kind::none);
  EXPECT_EQ(parse_train_backend("shm+tcp").kind, Kind::named);
  EXPECT_EQ(parse_train_backend("none").name, "auto") << "losses are told all the same";
  for (const char* word : {"auto", "none", "gloo:bcube"})
    EXPECT_EQ(to_string(parse_train_backend(word)), word);
}

TEST(TrainOptions, words_that_are_none_are_refused_with_those_there_are) {
  const auto refusal = [](const TrainWords& words) {
    return [words] {
      TrainOptions options;
      read_words(words, options);
    };
  };
  EXPECT_THAT(refusal({.precision = "tf32"}),
              ThrowsMessage<ConfigError>("--precision 'tf32': there are fp32, fp64, bf16, fp16"));
  EXPECT_THAT(refusal({.optimizer = "lamb"}),
              ThrowsMessage<ConfigError>("--optimizer 'lamb': there are sgd, adamw"));
  EXPECT_THAT(refusal({.overlap = "before"}),
              ThrowsMessage<ConfigError>("--overlap 'before': there are auto, during, after"));
  EXPECT_THAT(refusal({.schedule = "2f2b"}), ThrowsMessage<ConfigError>(HasSubstr("no pipeline schedule")));
}

}  // namespace
}  // namespace gradwire
