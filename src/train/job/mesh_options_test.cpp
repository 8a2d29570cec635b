#include "train/job/mesh_options.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

TrainOptions asked(const std::string& model, int tp, int pp) {
  TrainOptions options;
  options.model = model;
  options.tp = tp;
  options.pp = pp;
  options.sequence = 128;
  return options;
}

TrainOptions completed(const TrainOptions& options) {
  return complete_mesh(options, find_trainable(options.model));
}

std::string refusal(const TrainOptions& options, int ranks = 8) {
  try {
    mesh_of(completed(options), ranks);
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "";
}

TEST(MeshOptions, every_combination_that_divides_is_a_mesh_of_its_ranks) {
  for (int tp = 1; tp <= 4; tp *= 2)
    for (int pp = 1; pp <= 4; pp *= 2)
      for (int dp = 1; dp * tp * pp <= 16; ++dp) {
        auto options = asked("gpt-tiny", tp, pp);
        EXPECT_EQ(mesh_of(completed(options), dp * tp * pp), (Mesh{.dp = dp, .tp = tp, .pp = pp}));
        options.dp = dp;
        EXPECT_EQ(mesh_of(completed(options), dp * tp * pp).dp, dp);
        EXPECT_EQ(uses_mesh(options), tp * pp > 1);
      }
}

TEST(MeshOptions, replicas_of_the_whole_model_are_not_split) {
  auto options = asked("gpt-tiny", 1, 1);
  options.dp = 8;
  EXPECT_FALSE(is_split(options));
  options.shard = 1;
  EXPECT_TRUE(is_split(options));
  EXPECT_TRUE(is_split(asked("gpt-tiny", 2, 1)));
}

TEST(MeshOptions, a_pipeline_is_filled_with_twice_its_stages) {
  EXPECT_EQ(completed(asked("gpt-tiny", 1, 4)).accumulate, 8);
  EXPECT_EQ(completed(asked("gpt-tiny", 4, 1)).accumulate, 1);
  auto options = asked("gpt-tiny", 1, 2);
  options.schedule = PipelineSchedule::interleaved;
  EXPECT_EQ(pipeline_of(completed(options)).chunks(), 4);
}

TEST(MeshOptions, what_makes_no_sense_is_refused_with_the_reason) {
  EXPECT_EQ(refusal(asked("gpt-tiny", 3, 1)),
            "--tp 3: the 4 heads of gpt-tiny can't be divided among so many ranks");
  EXPECT_EQ(refusal(asked("mlp", 2, 1)),
            "--tp 2: mlp is no transformer; tensor parallelism cuts gpt and bert models by their heads");
  EXPECT_EQ(refusal(asked("gpt-tiny", 1, 8)), "--pp 8: gpt-tiny has 4 layers, and every stage needs one");
  EXPECT_EQ(refusal(asked("gpt-tiny", 2, 2), 6),
            "--tp 2 --pp 2: 6 ranks can't be divided into models of 4; write -n 4");
  auto options = asked("gpt-tiny", 2, 2);
  options.dp = 4;
  EXPECT_EQ(refusal(options), "--dp 4 --tp 2 --pp 2 are 16 ranks, and there are 8: write -n 16, or --dp 2");
  options = asked("gpt-tiny", 1, 1);
  options.micro_batches = 4;
  EXPECT_EQ(refusal(options), "--micro-batches fill a pipeline: write --accumulate, or --pp 2 or more");
  options = asked("gpt-tiny", 1, 1);
  options.sequence_parallel = true;
  EXPECT_NE(refusal(options), "");
  options = asked("gpt-tiny", 4, 1);
  options.sequence_parallel = true;
  options.sequence = 126;
  EXPECT_EQ(refusal(options), "--sequence-parallel: 126 tokens can't be divided among the 4 ranks of --tp");
  options = asked("gpt-tiny", 1, 2);
  options.accumulate = 3;
  EXPECT_NE(refusal(options), "");
  options = asked("gpt-tiny", 1, 4);
  options.schedule = PipelineSchedule::interleaved;
  EXPECT_EQ(refusal(options),
            "--pp 4 with --virtual-stages 2: gpt-tiny has 4 layers, and every stage needs one");
}

TEST(MeshOptions, ranks_that_share_a_model_and_do_not_communicate_rehearse) {
  auto options = asked("gpt-tiny", 2, 1);
  EXPECT_FALSE(rehearses(options));
  options.backend = parse_train_backend("none");
  EXPECT_EQ(refusal(options), "");
  EXPECT_TRUE(rehearses(options));
  options.tp = 1;
  EXPECT_FALSE(rehearses(options)) << "every rank has a model of its own";
  options.shard = 1;
  EXPECT_TRUE(rehearses(options));
}

TEST(MeshOptions, a_mesh_goes_with_sharding_sixteen_bits_checkpoints_and_recomputation) {
  for (const bool recompute : {false, true})
    for (const auto precision : {Precision::fp32, Precision::fp64, Precision::bf16, Precision::fp16})
      for (int shard = 0; shard <= 3; ++shard) {
        auto options = asked("gpt-tiny", 2, 2);
        options.recompute = recompute;
        options.precision = precision;
        options.shard = shard;
        options.checkpoint = options.resume = "c.ckpt";
        EXPECT_EQ(refusal(options), "");
      }
}

TEST(MeshOptions, a_model_that_is_cut_and_there_once_has_nothing_to_shard) {
  auto options = asked("gpt-tiny", 2, 1);
  options.shard = 2;
  EXPECT_THROW(check_replicas(options, mesh_of(options, 2)), ConfigError);
  EXPECT_NO_THROW(check_replicas(options, mesh_of(options, 4)));
  options.tp = 1;
  EXPECT_NO_THROW(check_replicas(options, mesh_of(options, 1))) << "a run of several ranks goes on with one";
}

}  // namespace
}  // namespace gradwire
