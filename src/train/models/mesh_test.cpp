// Transformers on every mesh of up to eight ranks, sharded or not: gradients of one process, equal parameters where ranks
// share them after 20 steps, the loss of one process, and checkpoints that go on with another mesh.
#include <gtest/gtest.h>

#include <cmath>

#include "base/files.h"
#include "train/models/mesh_fixture.h"

namespace gradwire {
namespace {

std::vector<Mesh> all_meshes() {
  std::vector<Mesh> meshes;
  for (const int dp : {1, 2, 4})
    for (const int tp : {1, 2, 4})
      for (const int pp : {1, 2, 4})
        if (dp * tp * pp <= 8) meshes.push_back({.dp = dp, .tp = tp, .pp = pp});
  return meshes;
}

class EveryMesh : public testing::TestWithParam<Mesh> {};

TEST_P(EveryMesh, has_the_gradients_of_one_process) {
  const MeshCase given{.mesh = GetParam()};
  run_mesh(given, [&](const World& world) { check_mesh_case(world, given, 2); });
}

// Every stage of sharding comes with some of the meshes, and below with all of its dimensions at once.
TEST_P(EveryMesh, has_them_with_sharding_sequence_parallelism_recomputation_and_tied_ends) {
  MeshCase given{.mesh = GetParam(), .recompute = true, .tied = true};
  given.sequence = given.mesh.tp > 1;
  if (given.mesh.dp > 1) given.shard = 1 + (given.mesh.tp + given.mesh.pp) % 3;
  run_mesh(given, [&](const World& world) { check_mesh_case(world, given, 2); });
}

// Ranks that hold the same parts hold the same bits, dropout and all.
TEST_P(EveryMesh, keeps_shared_parameters_alike_over_20_steps_with_dropout) {
  MeshCase given{.mesh = GetParam(), .tied = true};
  given.sequence = given.mesh.tp > 1;
  run_mesh(given, [&](const World& world) {
    MeshModel model(world, make_tiny(given, 0.1), make_tokens(1, 1).inputs[0], options_of(given));
    torch::optim::AdamW optimizer(model.pipeline().parameters(), torch::optim::AdamWOptions(3e-3));
    for (int step = 0; step < 20; ++step) {
      auto batches = make_tokens(given.mesh.dp, 10 + static_cast<std::uint64_t>(step)).of(model.place().data);
      batches.seed = static_cast<std::uint64_t>(step);
      model.pipeline().zero_grad();
      model.step(batches);
      optimizer.step();
    }
    const auto same = [&](MeshDimension dimension, const std::vector<torch::Tensor>& tensors) {
      const auto group = make_communicator(
          subset(world, group_of(given.mesh, dimension, world.rank),
                 "same" + std::to_string(group_of(given.mesh, dimension, world.rank).front()) +
                     std::string(name_of(dimension))),
          "shm");
      if (!tensors.empty()) expect_identical(*group, tensors);
      group->run(barrier());
    };
    same(MeshDimension::data, model.pipeline().parameters());
    std::vector<torch::Tensor> replicated;
    for (const auto& chunk : model.pipeline().chunks()) {
      const auto cuts = cuts_of(*chunk);
      for (const auto& item : chunk->named_parameters())
        if (cuts.at(item.key()).whole()) replicated.push_back(item.value());
    }
    same(MeshDimension::tensor, replicated);
  });
}

INSTANTIATE_TEST_SUITE_P(Transformer, EveryMesh, testing::ValuesIn(all_meshes()), [](const auto& tested) {
  const Mesh& mesh = tested.param;
  return "dp" + std::to_string(mesh.dp) + "_tp" + std::to_string(mesh.tp) + "_pp" + std::to_string(mesh.pp);
});

TEST(MeshModels, sharded_on_three_dimensions_have_the_gradients_of_one_process_in_every_stage) {
  for (const int stage : {1, 2, 3}) {
    const MeshCase given{.mesh = {.dp = 2, .tp = 2, .pp = 2}, .tied = true, .shard = stage};
    run_mesh(given, [&](const World& world) { check_mesh_case(world, given, 2); });
  }
}

TEST(MeshModels, of_bert_interleaved_stages_and_other_wires_have_the_gradients_of_one_process) {
  const MeshCase cases[] = {
      {.mesh = {.dp = 2, .pp = 2},
       .tied = true,
       .bert = true,
       .schedule = PipelineSchedule::interleaved,
       .virtual_stages = 2,
       .shard = 3},
      {.mesh = {.dp = 2, .pp = 2}, .schedule = PipelineSchedule::gpipe, .backend = "tcp", .shard = 2},
      {.mesh = {.tp = 2, .pp = 2}, .sequence = true, .tied = true, .bert = true},
      {.mesh = {.dp = 2, .tp = 2}, .tied = true, .bert = true},
      {.mesh = {.tp = 2, .pp = 2}, .schedule = PipelineSchedule::interleaved, .virtual_stages = 2},
      {.mesh = {.dp = 2, .pp = 2}, .schedule = PipelineSchedule::gpipe},
      {.mesh = {.dp = 1, .tp = 2, .pp = 2}, .sequence = true, .recompute = true, .backend = "tcp"}};
  for (const MeshCase& given : cases)
    run_mesh(given, [&](const World& world) { check_mesh_case(world, given, 2); });
}

TEST(MeshModels, clip_by_the_norm_of_the_whole_model) {
  for (const int stage : {0, 3}) {
    const MeshCase given{.mesh = {.dp = 2, .tp = 2, .pp = 2}, .tied = true, .shard = stage};
    run_mesh(given, [&](const World& world) {
      auto alone = make_tiny(given);
      const auto samples = make_tokens(2, 3);
      loss_alone(*alone, samples).backward();
      MeshModel model(world, make_tiny(given), samples.inputs[0], options_of(given));
      model.step(samples.of(model.place().data));
      const double norm = model.clip_grad_norm(0.01);
      EXPECT_NEAR(norm, torch::nn::utils::clip_grad_norm_(alone->parameters(), 0.01), 1e-10);
      expect_own_gradients(model, *alone);
    });
  }
}

TEST(MeshModels, test_as_one_process_does) {
  const MeshCase given{.mesh = {.tp = 2, .pp = 2}, .sequence = true};
  run_mesh(given, [&](const World& world) {
    auto alone = make_tiny(given);
    const auto samples = make_tokens(1, 3);
    MeshModel model(world, make_tiny(given), samples.inputs[0], options_of(given));
    const auto input = samples.inputs.view({-1, 8}), target = samples.targets.view({-1, 8});
    const auto [classes, loss] = model.test({input, target});
    ASSERT_EQ(classes.defined(), model.place().pipeline == 1 && model.place().tensor == 0);
    if (!classes.defined()) return;
    EXPECT_TRUE(torch::equal(classes, alone->forward(input).argmax(-1)));
    EXPECT_NEAR(loss, loss_alone(*alone, samples).item<double>(), 1e-10);
  });
}

TrainOptions learning(OptimizerKind optimizer, Precision precision = Precision::fp64) {
  TrainOptions options;
  options.optimizer = optimizer;
  options.precision = precision;
  options.learning_rate = 1e-2;
  return options;
}

void train_mesh(MeshModel& model, const MeshCase& given, int first, int end) {
  for (int step = first; step < end; ++step) {
    model.step(make_tokens(given.mesh.dp, 10 + static_cast<std::uint64_t>(step)).of(model.place().data));
    model.update(0);
  }
}

// The same samples whatever the mesh: all have two replicas.
std::shared_ptr<Net> trained_alone(const MeshCase& given, int steps) {
  auto alone = make_tiny(given);
  torch::optim::AdamW optimizer(alone->parameters(), torch::optim::AdamWOptions(1e-2));
  for (int step = 0; step < steps; ++step) {
    optimizer.zero_grad();
    loss_alone(*alone, make_tokens(2, 10 + static_cast<std::uint64_t>(step))).backward();
    optimizer.step();
  }
  return alone;
}

TEST(MeshModels, save_checkpoints_of_the_whole_model_that_go_on_with_any_mesh) {
  const TempDir directory;
  const auto path = directory.path() / "mesh.ckpt";
  const MeshCase saved{.mesh = {.dp = 2, .tp = 2, .pp = 2}, .tied = true, .shard = 3};
  const auto run = [&](const MeshCase& given, bool resumed) {
    run_mesh(given, [&](const World& world) {
      MeshModel model(world, make_tiny(given), make_tokens(1, 1).inputs[0], options_of(given));
      model.learn_by(learning(OptimizerKind::adamw));
      World all = world;
      all.name = "files";
      const auto everybody = make_communicator(all, "shm");
      if (resumed) {
        EXPECT_EQ(model.load(path, *everybody, Unchecked::refuse).step, 2);
        train_mesh(model, given, 2, 4);
        return expect_own_values(model, *trained_alone(given, 4));
      }
      train_mesh(model, given, 0, 2);
      save_checkpoint(path, model.state(), {.step = 2}, *everybody, {.sharded = true});
    });
  };
  run(saved, false);
  run(saved, true);
  run({.mesh = {.dp = 2, .pp = 4}, .recompute = true, .tied = true}, true);
  run({.mesh = {.dp = 2, .tp = 4}, .sequence = true, .tied = true}, true);
  run({.mesh = {.dp = 2, .tp = 2}, .tied = true, .shard = 1}, true);
  run({.mesh = {.dp = 2, .tp = 2, .pp = 2}, .tied = true}, false);  // of replicas, which take turns
  run({.mesh = {.dp = 2}, .tied = true, .shard = 2}, true);
  run_ddp(1, "shm", [&](const World&, Communicator& communicator) {  // and without any
    auto alone = make_tiny(saved);
    load_checkpoint(path, {tensors_of_model(*alone), nullptr}, communicator);
    EXPECT_LT(worst_difference(alone->parameters(), trained_alone(saved, 2)->parameters()), 1e-10);
  });
}

// What PowerSGD has left out on each rank of each part is as much a part of a run as its momentum.
TEST(MeshModels, go_on_to_the_bit_with_gradients_that_are_compressed) {
  for (MeshCase given : {MeshCase{.mesh = {.dp = 2}, .recompute = true}, MeshCase{.mesh = {.dp = 2, .tp = 2}},
                         MeshCase{.mesh = {.dp = 2, .pp = 2}, .tied = true},
                         MeshCase{.mesh = {.dp = 2, .tp = 2, .pp = 2}, .sequence = true, .tied = true}}) {
    const TempDir directory;
    run_mesh(given, [&](const World& world) {
      World all = world;
      all.name = "files";
      const auto everybody = make_communicator(all, "shm");
      const auto save = [&](MeshModel& model, int step, const std::string& name) {
        save_checkpoint(directory.path() / name, model.state(), {.step = step}, *everybody,
                        {.sharded = true});
      };
      // Steps up to the sixth, from a checkpoint if one is named. The whole model then, wherever its stages were cut.
      const auto run = [&](int first, const std::string& from, bool remembers) {
        auto options = options_of(given);
        options.replicas.ddp.hook = make_power_sgd_hook({.rank = 1, .start_step = 1, .min_compression = 1});
        World mine = world;
        mine.name = "run" + std::to_string(first) + (remembers ? "" : "-anew");
        MeshModel model(mine, make_tiny(given), make_tokens(1, 1).inputs[0], options);
        model.learn_by(learning(OptimizerKind::adamw));
        if (first > 0) {
          const auto kept = std::dynamic_pointer_cast<KeepingHook>(options.replicas.ddp.hook)->state();
          EXPECT_EQ(model.load(directory.path() / from, *everybody, Unchecked::refuse).step, first);
          if (!remembers) std::dynamic_pointer_cast<KeepingHook>(options.replicas.ddp.hook)->restore(kept);
        }
        for (int step = first; step < 6; ++step) {
          train_mesh(model, given, step, step + 1);
          save(model, step + 1, first == 0 ? std::to_string(step + 1) : "resumed");
        }
        const auto net = make_tiny(given);
        load_checkpoint(directory.path() / (first == 0 ? "6" : "resumed"), {tensors_of_model(*net)},
                        *everybody);
        return flat_parameters(net->parameters());
      };
      const auto whole = run(0, "", true);
      EXPECT_TRUE(torch::equal(run(1, "1", true), whole)) << to_string(given.mesh);
      EXPECT_TRUE(torch::equal(run(4, "4", true), whole)) << to_string(given.mesh);
      EXPECT_FALSE(torch::equal(run(4, "4", false), whole)) << "there is something to keep";
    });
  }
}

TEST(MeshModels, refuse_a_checkpoint_of_another_model_on_all_ranks) {
  const TempDir directory;
  const auto path = directory.path() / "mesh.ckpt";
  const MeshCase given{.mesh = {.tp = 2, .pp = 2}};
  run_mesh(given, [&](const World& world) {
    World all = world;
    all.name = "files";
    const auto everybody = make_communicator(all, "shm");
    torch::manual_seed(1);
    TransformerShape shape = kTiny;
    shape.vocabulary = 22;  // the first of two ranks has 11 words of either
    const auto other = make_gpt(shape);
    other->to(torch::kFloat64);
    save_checkpoint(path, {tensors_of_model(*other)}, {.step = 2}, *everybody);
    MeshModel model(world, make_tiny(given), make_tokens(1, 1).inputs[0], options_of(given));
    model.learn_by(learning(OptimizerKind::sgd));
    const auto before = flat_parameters(model.pipeline().parameters());
    EXPECT_NE(
        error_of([&] { model.load(path, *everybody, Unchecked::refuse); }).find("another shape or type"),
        std::string::npos);
    EXPECT_TRUE(torch::equal(before, flat_parameters(model.pipeline().parameters())));
  });
}

TEST(MeshModels, compute_in_bfloat16_and_learn_in_float32) {
  for (const int stage : {0, 3}) {
    const MeshCase given{
        .mesh = {.dp = 2, .tp = 2, .pp = 2}, .recompute = stage > 0, .tied = true, .shard = stage};
    run_mesh(given, [&](const World& world) {
      auto options = options_of(given);
      options.type = torch::kFloat32;
      options.replicas.precision = torch::kBFloat16;
      MeshModel model(world, make_tiny(given), make_tokens(1, 1).inputs[0], options);
      model.learn_by(learning(OptimizerKind::adamw, Precision::bf16));
      double first = 0, last = 0;
      for (int step = 0; step < 15; ++step) {
        last = model.step(make_tokens(given.mesh.dp, 7).of(model.place().data));
        model.update(1);
        if (step == 0) first = last;
      }
      if (model.pipeline().is_last()) {
        EXPECT_LT(last, 0.75 * first);
      }
      for (const auto& parameter : model.pipeline().parameters())
        EXPECT_EQ(parameter.scalar_type(), torch::kFloat32);
      for (const auto& [name, parameter] : model.pipeline().named_parameters())
        EXPECT_EQ(parameter.scalar_type(), torch::kBFloat16) << name;
    });
  }
}

// One rank of eight, which is no replica, no part and no stage of another's.
TEST(MeshModels, leave_a_step_out_on_all_ranks_when_one_overflowed) {
  const MeshCase given{.mesh = {.dp = 2, .tp = 2, .pp = 2}};
  run_mesh(given, [&](const World& world) {
    auto options = options_of(given);
    options.type = torch::kFloat32;
    options.replicas.precision = torch::kFloat16;
    MeshModel model(world, make_tiny(given), make_tokens(1, 1).inputs[0], options);
    model.learn_by(learning(OptimizerKind::sgd, Precision::fp16));
    const auto step = [&](bool overflows) {
      const double loss = model.step(make_tokens(2, 7).of(model.place().data));
      if (model.pipeline().is_last()) {
        EXPECT_NEAR(loss, std::log(21.0), 0.5) << "without its scale";
      }
      if (overflows && world.rank == 5) model.pipeline().parameters()[0].grad().fill_(INFINITY);
      model.update(0);
      TrainResult result;
      model.describe(result);
      return result.skipped_steps;
    };
    const auto values = [&] { return flat_parameters(model.pipeline().parameters()); };
    EXPECT_EQ(step(false), 0);
    const auto before = values();
    EXPECT_EQ(step(true), 1);
    EXPECT_TRUE(torch::equal(values(), before));
    EXPECT_EQ(step(false), 1);
    EXPECT_FALSE(torch::equal(values(), before));
  });
}

}  // namespace
}  // namespace gradwire
