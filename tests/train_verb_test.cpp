// `gradwire train` as a user runs it: what it learns and what it says.
#include <fmt/ranges.h>

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/files.h"
#include "trace/breakdown.h"
#include "train_session.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

TEST(TrainVerb, learns_printed_digits_on_two_ranks) {
  const auto result = run_json({"convnet", "-n", "2", "--steps", "40", "--batch", "32", "--lr", "0.05"});
  EXPECT_EQ(result.at("ranks"), 2);
  EXPECT_EQ(result.at("parameters"), 1'199'882);
  EXPECT_LT(result.at("loss_last").get<double>(), result.at("loss_first").get<double>() / 2);
  EXPECT_GT(result.at("accuracy").get<double>(), 0.5) << "chance is 0.1, whatever fonts there are";
  EXPECT_GT(result.at("samples_per_s").get<double>(), 0);
}

// A mesh has the loss on its last stage, and rank 0 speaks.
TEST(TrainVerb, sums_up_the_losses_that_it_showed) {
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{}, std::vector<std::string>{"--pp", "2", "--micro-batches", "2"}}) {
    std::vector<std::string> arguments = {"mlp", "-n", "2", "--steps", "3", "--batch", "4"};
    arguments.insert(arguments.end(), how.begin(), how.end());
    auto run = gradwire_train(arguments);
    EXPECT_EQ(run.finish(), 0) << run.text();
    const auto shown = [&](int step) {
      const auto words = fmt::format("step {} of 3  loss ", step);
      const auto at = run.text().find(words);
      if (at == std::string::npos) return words + "was not shown";
      const auto begin = at + words.size();
      return run.text().substr(begin, run.text().find(' ', begin) - begin);
    };
    EXPECT_THAT(run.text(), HasSubstr(fmt::format("loss {} -> {} in 3 steps", shown(1), shown(3))));
    EXPECT_NE(shown(1), shown(3));
  }
}

TEST(TrainVerb, does_not_diverge_with_what_it_takes_by_itself) {
  const auto losses = run_json({"mlp", "-n", "2", "--steps", "40"}).at("losses").get<std::vector<double>>();
  ASSERT_EQ(losses.size(), 40u);
  EXPECT_LT(*std::max_element(losses.begin(), losses.end()), 2 * losses.front());
  EXPECT_LT(losses.back(), losses.front());
}

TEST(TrainVerb, learns_text) {
  const auto result = run_json({"gpt-tiny", "-n", "2", "--steps", "12", "--batch", "2", "--sequence", "64"});
  EXPECT_LT(result.at("loss_last").get<double>(), result.at("loss_first").get<double>() - 1);
  EXPECT_TRUE(result.contains("accuracy"));
}

// The same 8 samples a step, cut in every way at once; dropout differs, so losses are near, not equal.
TEST(TrainVerb, learns_text_on_a_mesh_as_one_rank_does) {
  const std::vector<std::string> common = {"gpt-tiny", "--steps", "12", "--sequence", "64"};
  const auto with = [&](std::vector<std::string> more) {
    more.insert(more.begin(), common.begin(), common.end());
    return run_json(more);
  };
  const auto alone = with({"-n", "1", "--batch", "8"});
  const auto mesh = with({"-n", "8", "--batch", "1", "--dp", "2", "--tp", "2", "--pp", "2", "--micro-batches",
                          "4", "--sequence-parallel", "--recompute", "--shard", "3"});
  EXPECT_EQ(mesh.at("parameters"), alone.at("parameters"));
  EXPECT_NEAR(mesh.at("loss_first").get<double>(), alone.at("loss_first").get<double>(), 0.1);
  EXPECT_NEAR(mesh.at("loss_last").get<double>(), alone.at("loss_last").get<double>(), 0.3);
  EXPECT_NEAR(mesh.at("test_loss").get<double>(), alone.at("test_loss").get<double>(), 0.3);
  EXPECT_NEAR(mesh.at("mesh").at("bubble").get<double>(), 1.0 / 5, 1e-9) << "(pp - 1) / (m + pp - 1)";
  EXPECT_EQ(mesh.at("mesh").at("links").size(), 4u) << mesh.at("mesh").at("links");
}

// Stages may be cut elsewhere after a resumption: what is learnt does not depend on it.
TEST(TrainVerb, goes_on_to_the_bit_on_its_mesh) {
  const TempDir directory;
  const auto file = (directory.path() / "c.ckpt").string();
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"gpt-tiny", "-n", "4", "--dp", "2", "--pp", "2", "--micro-batches", "2",
                               "--shard", "2", "--batch", "1", "--sequence", "16", "--steps", "3"});
    return run_json(more);
  };
  const auto whole = with({"--checkpoint", file, "--checkpoint-every", "2", "--checkpoint-keep", "2"});
  const auto rest = with({"--resume", file + ".step-2"});
  EXPECT_EQ(rest.at("first_step"), 2);
  EXPECT_EQ(rest.at("losses")[0], whole.at("losses")[2]);
}

TEST(TrainVerb, says_where_a_steps_time_went_in_parts_that_add_up) {
  const auto result = run_json({"mlp", "-n", "2", "--steps", "6", "--batch", "8"});
  double sum = 0;
  for (const char* part : {"data", "forward", "backward", "comm_exposed", "optimizer", "other"})
    sum += result.at("breakdown_ms").at(part).get<double>();
  EXPECT_NEAR(sum, result.at("step_ms").get<double>(), 1e-6);
  EXPECT_TRUE(result.at("breakdown_ms").contains("comm_overlapped"));
}

TEST(TrainVerb, writes_a_trace_of_every_rank_step_and_bucket) {
  const TempDir directory;
  const auto file = directory.path() / "trace.json";
  auto run = gradwire_train(
      {"mlp", "-n", "2", "--steps", "4", "--batch", "4", "--bucket-mb", "5", "--trace", file.string()});
  EXPECT_EQ(run.finish(), 0) << run.text();
  EXPECT_THAT(run.text(), AllOf(HasSubstr("10.03 M parameters"), HasSubstr("loss "), HasSubstr("B  backward"),
                                HasSubstr("perfetto")));
  const Timeline timeline = read_timeline(file);
  EXPECT_EQ(timeline.ranks, 2);
  EXPECT_EQ(step_parts(timeline).size(), 8u);
  for (const Rank rank : {0, 1}) {
    Bytes bytes = 0;
    for (const Span& span : timeline.spans)
      if (span.rank == rank && span.step == 3 && span.kind == SpanKind::bucket) bytes += span.bytes;
    EXPECT_EQ(bytes, 4 * 10'032'640u) << "every gradient travels once a step";
  }
}

TEST(TrainVerb, gives_the_same_losses_for_the_same_seed) {
  const std::vector<std::string> arguments = {"convnet", "-n", "2",      "--steps", "3",
                                              "--batch", "4",  "--seed", "5"};
  EXPECT_EQ(run_json(arguments).at("losses"), run_json(arguments).at("losses"));
}

TEST(TrainVerb, goes_on_from_a_checkpoint_on_another_number_of_ranks) {
  const TempDir directory;
  const auto file = (directory.path() / "c.ckpt").string();
  const auto whole = run_json({"mlp", "-n", "1", "--steps", "6", "--batch", "8"});
  run_json({"mlp", "-n", "1", "--steps", "4", "--batch", "8", "--checkpoint", file});
  const auto rest = run_json({"mlp", "-n", "1", "--steps", "6", "--batch", "8", "--resume", file});
  EXPECT_EQ(rest.at("first_step"), 4);
  EXPECT_NEAR(rest.at("loss_last").get<double>(), whole.at("loss_last").get<double>(), 1e-4);
  const auto two = run_json({"mlp", "-n", "2", "--steps", "5", "--batch", "8", "--resume", file});
  EXPECT_LT(two.at("loss_first").get<double>(), whole.at("loss_first").get<double>());

  auto done = gradwire_train({"mlp", "-n", "1", "--steps", "4", "--resume", file});
  EXPECT_EQ(done.finish(), 2);
  EXPECT_THAT(done.text(), HasSubstr("it is of step 4 already"));
  auto other = gradwire_train({"convnet", "-n", "2", "--resume", file});
  EXPECT_EQ(other.finish(), 2);
  EXPECT_THAT(other.text(), HasSubstr("it is of another model"));
}

// Over tcp sums of three are rounded by how buckets are cut.
TEST(TrainVerb, goes_on_to_the_bit_on_three_ranks_over_a_network) {
  const TempDir directory;
  const auto file = (directory.path() / "c.ckpt").string();
  const auto with = [](std::vector<std::string> more) {
    more.insert(more.begin(), {"convnet", "-n", "3", "--steps", "5", "--batch", "4", "--backend", "tcp"});
    return run_json(more);
  };
  const auto whole = with({"--checkpoint", file, "--checkpoint-every", "2", "--checkpoint-keep", "3"});
  const auto rest = with({"--resume", file + ".step-2"});
  EXPECT_EQ(rest.at("first_step"), 2);
  for (std::size_t i = 2; i < 5; ++i) EXPECT_EQ(rest.at("losses").at(i - 2), whole.at("losses").at(i));
}

// Also what compression has left out of the gradients so far, which each rank has of its own. It begins after ten steps.
TEST(TrainVerb, goes_on_to_the_bit_with_compressed_gradients) {
  const TempDir directory;
  const auto file = (directory.path() / "c.ckpt").string();
  const auto with = [](const char* ranks, std::vector<std::string> more) {
    more.insert(more.begin(),
                {"convnet", "-n", ranks, "--steps", "15", "--batch", "2", "--compress", "powersgd"});
    return more;
  };
  const auto whole =
      run_json(with("2", {"--checkpoint", file, "--checkpoint-every", "4", "--checkpoint-keep", "4"}));
  for (const int step : {8, 12}) {
    const auto rest = run_json(with("2", {"--resume", fmt::format("{}.step-{}", file, step)}));
    for (int i = step; i < 15; ++i)
      EXPECT_EQ(rest.at("losses").at(static_cast<std::size_t>(i - step)),
                whole.at("losses").at(static_cast<std::size_t>(i)))
          << "resumed after step " << step;
  }
  auto three = gradwire_train(with("3", {"--resume", file + ".step-12"}));
  EXPECT_EQ(three.finish(), 0) << three.text();
  EXPECT_THAT(three.text(), HasSubstr("on each of 2 ranks goes on as its mean on each of 3"));
}

TEST(TrainVerb, shares_a_model_among_ranks_and_learns_the_same) {
  const std::vector<std::string> arguments = {"gpt-tiny", "-n",     "2",          "--steps", "4",
                                              "--batch",  "2",      "--sequence", "32",      "--accumulate",
                                              "2",        "--clip", "1"};
  const auto whole = run_json(arguments);
  const auto all = whole.at("held_bytes").at("optimizer").get<double>();
  EXPECT_EQ(all, 2.0 * 4 * 3'716'608);
  for (const char* stage : {"1", "2", "3"}) {
    auto sharing = arguments;
    sharing.insert(sharing.end(), {"--shard", stage});
    const auto shared = run_json(sharing);
    for (std::size_t i = 0; i < 4; ++i)
      EXPECT_NEAR(shared.at("losses")[i].get<double>(), whole.at("losses")[i].get<double>(), 1e-3) << stage;
    const auto held = shared.at("held_bytes");
    EXPECT_NEAR(held.at("optimizer").get<double>(), all / 2, all / 1000) << stage;
    EXPECT_NEAR(held.at("parameters").get<double>(), all / 4, all / 1000) << stage;
    EXPECT_GT(shared.at("comm_hidden_share").get<double>(), 0) << stage;
  }
}

TEST(TrainVerb, goes_on_from_shares_with_other_ranks_and_stages) {
  const TempDir directory;
  const auto file = (directory.path() / "c.ckpt").string();
  const std::vector<std::string> small = {"mlp", "--batch", "8", "--optimizer", "adamw", "--lr", "0.0005"};
  const auto run = [&](std::vector<std::string> more) {
    more.insert(more.begin(), small.begin(), small.end());
    return run_json(more);
  };
  const auto saved = run({"-n", "3", "--shard", "3", "--steps", "4", "--checkpoint", file});
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"-n", "2", "--shard", "2"}, std::vector<std::string>{"-n", "2"}}) {
    auto more = how;
    more.insert(more.end(), {"--steps", "5", "--resume", file});
    const auto rest = run(more);
    EXPECT_EQ(rest.at("first_step"), 4);
    EXPECT_LT(rest.at("loss_first").get<double>(), saved.at("loss_first").get<double>() - 1);
  }
}

TEST(TrainVerb, computes_in_sixteen_bits_and_learns_in_thirty_two) {
  const std::vector<std::string> arguments = {"mlp",     "-n",   "2",      "--steps",   "6",
                                              "--batch", "2",    "--data", "generated", "--optimizer",
                                              "adamw",   "--lr", "0.0005"};
  const auto exact = run_json(arguments);
  for (const std::vector<std::string>& how :
       {std::vector<std::string>{"--precision", "bf16"}, std::vector<std::string>{"--precision", "fp16"},
        std::vector<std::string>{"--precision", "bf16", "--shard", "3"}}) {
    auto more = arguments;
    more.insert(more.end(), how.begin(), how.end());
    const auto mixed = run_json(more);
    EXPECT_NEAR(mixed.at("loss_last").get<double>(), exact.at("loss_last").get<double>(), 0.05) << how.back();
    EXPECT_EQ(mixed.at("held_bytes").at("optimizer").get<double>(),
              exact.at("held_bytes").at("optimizer").get<double>() / (how.size() > 2 ? 2 : 1))
        << how.back();
  }
}

TEST(TrainVerb, takes_every_way_of_communicating) {
  for (const char* backend : {"shm", "tcp", "gloo"})
    EXPECT_EQ(
        run_json({"convnet", "-n", "2", "--steps", "2", "--batch", "4", "--backend", backend}).at("backend"),
        backend);
  for (const char* compress : {"fp16", "bf16", "powersgd"}) {
    const auto result =
        run_json({"convnet", "-n", "2", "--steps", "3", "--batch", "4", "--compress", compress});
    EXPECT_LT(result.at("loss_last").get<double>(), 20.0) << compress;
  }
  EXPECT_EQ(
      run_json({"convnet", "-n", "3", "--steps", "2", "--batch", "4", "--accumulate", "2"}).at("accumulate"),
      2);
  EXPECT_EQ(run_json({"convnet", "-n", "2", "--steps", "2", "--batch", "4", "--precision", "f64"})
                .at("gradient_bytes"),
            8 * 1'199'882);
}

const Environment kAsRoot = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};

TEST(TrainVerb, starts_mpirun_for_ranks_that_mpi_carries) {
  const auto result = run_json({"convnet", "-n", "2", "--steps", "2", "--batch", "4", "--backend", "mpi"});
  EXPECT_EQ(result.at("backend"), "mpi");
  EXPECT_EQ(result.at("ranks"), 2);
  Session nodes(
      {GRADWIRE_PROGRAM, "train", "convnet", "--backend", "mpi", "--nnodes", "2", "--master", "node0:29500"},
      {{"GRADWIRE_SECRET", "0123456789abcdef"}});
  EXPECT_EQ(nodes.finish(), 2);
  EXPECT_THAT(nodes.text(), HasSubstr("on several nodes: start it with mpirun"));
}

TEST(TrainVerb, is_a_rank_where_mpirun_has_started_it) {
  Session run({"mpirun.openmpi", "--oversubscribe", "-n", "2", GRADWIRE_PROGRAM, "train", "convnet",
               "--steps", "2", "--batch", "4", "--backend", "mpi"},
              kAsRoot);
  EXPECT_EQ(run.finish(), 0) << run.text();
  EXPECT_THAT(run.text(), AllOf(HasSubstr("2 ranks x "), HasSubstr("over mpi")));
}

TEST(TrainVerb, normalizes_over_all_ranks_when_told_to) {
  const auto result =
      run_json({"resnet18", "-n", "2", "--steps", "1", "--batch", "2", "--image", "32", "--sync-batch-norm"});
  EXPECT_TRUE(std::isfinite(result.at("loss_last").get<double>()));
}

TEST(TrainVerb, simulates_the_same_step_on_a_machine_nobody_has_here) {
  const TempDir directory;
  const auto file = directory.path() / "trace.json";
  const auto result = run_json({"gpt2", "--on", "dgx-a100", "--batch", "4", "--trace", file.string()});
  EXPECT_EQ(result.at("ranks"), 8);
  EXPECT_GT(result.at("breakdown_ms").at("backward").get<double>(), 0);
  const Timeline timeline = read_timeline(file);
  EXPECT_EQ(timeline.ranks, 8);
  EXPECT_NEAR(breakdown(timeline).backward * 1e3, result.at("breakdown_ms").at("backward").get<double>(),
              0.01)
      << "the trace tells what the answer told";
}

}  // namespace
}  // namespace gradwire
