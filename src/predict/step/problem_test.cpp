// What a model, a GPU, wires and options make of a step before it is solved.
#include "predict/step/problem.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "predict/step/step.h"
#include "predict/workload/catalog.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

Gpu small_gpu() {
  Gpu gpu;
  gpu.id = "test";
  gpu.sm = 70;
  gpu.fp32_flops = 15e12;
  gpu.fp16_flops = 120e12;
  gpu.memory_bytes_per_s = 900e9;
  return gpu;
}

Roofline half_of_everything() {
  Roofline roofline;
  roofline.plain.fill(0.5);
  roofline.tensor.fill(0.5);
  roofline.memory = 0.5;
  return roofline;
}

Wires pipe(int ranks, double bytes_per_s) {
  Wires wires;
  wires.ranks = ranks;
  wires.all_reduce = alpha_beta(ranks, bytes_per_s, 0);
  return wires;
}

TEST(Problem, an_anchor_fixes_the_time_of_computing) {
  StepOptions options;
  options.anchor = Anchor{0.1, 64, 1, {}};
  const auto problem =
      make_problem(build_model("resnet50"), small_gpu(), pipe(1, 1), options, {}, half_of_everything());
  EXPECT_NEAR(problem.forward + problem.backward + problem.optimizer, 0.1, 1e-9);
}

TEST(Problem, twice_the_batch_of_the_anchor_takes_about_twice_as_long) {
  StepOptions options;
  options.batch = 128;
  options.anchor = Anchor{0.1, 64, 1, {}};
  const auto problem =
      make_problem(build_model("resnet50"), small_gpu(), pipe(1, 1), options, {}, half_of_everything());
  EXPECT_NEAR(problem.forward + problem.backward, 0.2, 0.02);
}

// GPT-2's embedding, 154 MB of 498, is registered first and ready last.
TEST(Problem, gpt2_ends_with_the_bucket_of_its_embedding) {
  const auto problem =
      make_problem(build_model("gpt2"), small_gpu(), pipe(2, 1e9), {}, {}, half_of_everything());
  EXPECT_EQ(problem.gradient_bytes, 4u * 124'439'808u);
  EXPECT_GE(problem.buckets.back().bytes, 4u * 50257u * 768u);
  EXPECT_NEAR(problem.buckets.back().ready, 1, 1e-9);
  EXPECT_LT(problem.buckets.front().ready, 0.3);
}

TEST(Problem, fp16_gradients_and_compression_halve_what_travels) {
  StepOptions plain, half, hook;
  half.gradient_bytes = 2;
  hook.compression = Compression::fp16;
  const auto bytes = [&](const StepOptions& options) {
    return make_problem(build_model("vgg16"), small_gpu(), pipe(2, 1e9), options, {}, half_of_everything())
        .gradient_bytes;
  };
  EXPECT_EQ(bytes(half) * 2, bytes(plain));
  EXPECT_EQ(bytes(hook), bytes(half));
}

TEST(Options, refuse_what_cannot_be) {
  StepOptions options;
  options.accumulate = 0;
  EXPECT_THAT([&] { check_options(options); },
              ThrowsMessage<ConfigError>(HasSubstr("an accumulation of 0: write 1 to 1e+07")));
  options = {};
  options.anchor = Anchor{0, 1, 1, {}};
  EXPECT_THAT([&] { check_options(options); },
              ThrowsMessage<ConfigError>(HasSubstr("a measured step (seconds)")));
}

TEST(Options, read_the_names_of_records) {
  EXPECT_EQ(parse_precision("amp-fp16"), Precision::fp16);
  EXPECT_EQ(parse_distribution("byteps"), Distribution::horovod);
  EXPECT_THAT(
      [] { parse_distribution("magic"); },
      ThrowsMessage<ConfigError>(HasSubstr("'magic' is not a way to distribute: there are ddp, horovod")));
}

}  // namespace
}  // namespace gradwire
