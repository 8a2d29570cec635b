// Transformers on every mesh of up to eight ranks, sharded or not: gradients of one process, equal parameters where ranks
// share them after 20 steps, and the loss of one process.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <cstdlib>
#include <filesystem>

#include "net/rendezvous/rendezvous.h"
#include "support/session.h"
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
int stage_for(const Mesh& mesh) { return mesh.dp > 1 ? 1 + (mesh.tp + mesh.pp) % 3 : 0; }

TEST_P(EveryMesh, has_them_with_sharding_sequence_parallelism_recomputation_and_tied_ends) {
  MeshCase given{.mesh = GetParam(), .recompute = true, .tied = true};
  given.sequence = given.mesh.tp > 1;
  given.shard = stage_for(given.mesh);
  run_mesh(given, [&](const World& world) { check_mesh_case(world, given, 2); });
}

void train_with_dropout(MeshModel& model, const MeshCase& given, int steps) {
  torch::optim::AdamW optimizer(model.pipeline().parameters(), torch::optim::AdamWOptions(3e-3));
  for (int step = 0; step < steps; ++step) {
    auto batches = make_tokens(given.mesh.dp, 10 + static_cast<std::uint64_t>(step)).of(model.place().data);
    batches.seed = static_cast<std::uint64_t>(step);
    model.pipeline().zero_grad();
    model.step(batches);
    optimizer.step();
  }
}

// Copies of the model's own tensors, which a sharded one gathers from all ranks of its data dimension.
struct HeldTensors {
  std::vector<torch::Tensor> all, uncut;  // the latter are on every tensor-parallel rank
};
HeldTensors held_by(MeshModel& model) {
  const torch::NoGradGuard no_grad;
  HeldTensors held;
  for (const auto& chunk : model.pipeline().chunks()) {
    const auto cuts = cuts_of(*chunk);
    for (const auto& item : chunk->named_parameters()) {
      held.all.push_back(item.value().clone());
      if (cuts.at(item.key()).whole()) held.uncut.push_back(held.all.back());
    }
  }
  return held;
}

void expect_same_along(const World& world, const Mesh& mesh, MeshDimension dimension,
                       const std::vector<torch::Tensor>& tensors) {
  const auto ranks = group_of(mesh, dimension, world.rank);
  const auto name = fmt::format("same-{}-{}", name_of(dimension), ranks.front());
  const auto group = make_communicator(subset(world, ranks, name), "shm");
  if (!tensors.empty()) expect_identical(*group, tensors);
  group->run(barrier());
}

void expect_alike_after_20_steps(const MeshCase& given) {
  run_mesh(given, [&](const World& world) {
    MeshModel model(world, make_tiny(given, 0.1), make_tokens(1, 1).inputs[0], options_of(given));
    train_with_dropout(model, given, 20);
    const auto held = held_by(model);
    expect_same_along(world, given.mesh, MeshDimension::data, held.all);
    expect_same_along(world, given.mesh, MeshDimension::tensor, held.uncut);
  });
}

// Ranks that hold the same parts hold the same bits, dropout and all.
TEST_P(EveryMesh, keeps_shared_parameters_alike_over_20_steps_with_dropout) {
  MeshCase given{.mesh = GetParam(), .tied = true};
  given.sequence = given.mesh.tp > 1;
  expect_alike_after_20_steps(given);
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

// A mesh for every stage.
TEST(MeshModels, sharded_and_recomputed_keep_shared_parameters_alike_over_20_steps_with_dropout) {
  for (const Mesh& mesh : {Mesh{.dp = 2, .pp = 2}, Mesh{.dp = 2, .tp = 2, .pp = 2}, Mesh{.dp = 4}})
    expect_alike_after_20_steps(
        {.mesh = mesh, .sequence = mesh.tp > 1, .recompute = true, .tied = true, .shard = stage_for(mesh)});
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
      {.mesh = {.dp = 2, .tp = 2}, .recompute = true, .tied = true, .backend = "shm+tcp", .shard = 3},
      {.mesh = {.dp = 1, .tp = 2, .pp = 2}, .sequence = true, .recompute = true, .backend = "tcp"}};
  for (const MeshCase& given : cases)
    run_mesh(given, [&](const World& world) { check_mesh_case(world, given, 2); });
}

TEST(MeshModels, over_gloo_have_the_gradients_of_one_process) {
  const MeshCase given{.mesh = {.dp = 2, .pp = 2}, .tied = true, .backend = "gloo", .shard = 1};
  run_mesh(given, [&](const World& world) { check_mesh_case(world, given, 2); });
}

// Each rank has several communicators, whose threads are in MPI at once. Plays two parts: started by itself it starts mpirun,
// started by mpirun it is a rank.
TEST(MeshModels, over_mpi_have_the_gradients_of_one_process) {
  const MeshCase cases[] = {{.mesh = {.dp = 2, .pp = 2}, .tied = true, .backend = "mpi", .shard = 2},
                            {.mesh = {.tp = 2, .pp = 2}, .sequence = true, .backend = "mpi"}};
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) {
    torch::set_num_threads(1);
    const auto world = join();
    for (const MeshCase& given : cases) {
      World named = world;  // whose groups have names of their own
      named.name += given.mesh.tp > 1 ? "/cut" : "/shared";
      check_mesh_case(named, given, 2);
    }
    make_communicator(world, "mpi")->run(barrier());
    return leave(world);
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  Session mpirun(
      {"mpirun.openmpi", "--oversubscribe", "-n", "4", self, "--gtest_filter=MeshModels.over_mpi_*"},
      {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  EXPECT_EQ(mpirun.finish(), 0) << mpirun.text();
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
