#include "report/train.h"

#include <gmock/gmock.h>

#include <csignal>

#include "report/render.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

TrainResult three_steps() {
  TrainResult result;
  result.losses = {3, 2, 1};
  result.step = {.forward = 0.01, .backward = 0.02};
  return result;
}

TEST(TrainReport, names_the_trace_that_was_written) {
  TrainOptions options;
  options.trace = "t.json";
  const auto report = train_report(options, three_steps());
  EXPECT_THAT(to_text(report), HasSubstr("trace: t.json (open it at ui.perfetto.dev)"));
  EXPECT_EQ(report.data.at("trace"), "t.json");
}

TEST(TrainReport, says_where_a_signal_ended_it) {
  TrainOptions options;
  auto result = three_steps();
  result.interrupted_by = SIGTERM;
  options.steps = 5;
  EXPECT_THAT(to_text(train_report(options, result)), HasSubstr("ended by SIGTERM before step 4 of 5"));
  options.steps = 3;
  EXPECT_THAT(to_text(train_report(options, result)), HasSubstr("ended by SIGTERM before it was tested"));
}

TEST(TrainReport, promises_no_file_that_could_not_be_written) {
  TrainOptions options;
  options.trace = "t.json";
  options.checkpoint = "c.ckpt";
  auto result = three_steps();
  result.traced = result.saved = false;
  const auto report = train_report(options, result);
  EXPECT_THAT(to_text(report),
              AllOf(HasSubstr("trace: t.json could not be written"), Not(HasSubstr("open it")),
                    HasSubstr("checkpoint: c.ckpt could not be written after the last step")));
  EXPECT_FALSE(report.data.contains("trace"));
}

// Two models of two ranks each learn from 8 samples, twice: 32 in half a second.
TEST(StepLine, counts_the_samples_of_all_models) {
  TrainOptions options;
  options.steps = 50, options.batch = 8, options.accumulate = 2, options.tp = 2;
  EXPECT_EQ(step_line(options, {.ranks = 4, .step = 2, .loss = 2.5, .time = 0.5}),
            "step 3 of 50  loss 2.5000  64.0 samples/s");
  options.backend.kind = TrainBackend::Kind::none;
  EXPECT_THAT(step_line(options, {.ranks = 4, .step = 2, .loss = 2.5, .time = 0.5}),
              HasSubstr("loss of rank 0 2.5000"));
}

}  // namespace
}  // namespace gradwire
