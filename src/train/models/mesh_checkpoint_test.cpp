// Checkpoints of transformers on meshes, which go on with any other mesh and with what compression left out.
#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "train/models/mesh_fixture.h"

namespace gradwire {
namespace {

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

// Four steps on one mesh, two more on another, with gradients that PowerSGD compresses after the first.
class CompressedElsewhere : public testing::Test {
 protected:
  using Look = std::function<void(MeshModel&, const HookState&, const World&)>;

  // Steps from a checkpoint (none: anew) up to `end`. `look` sees the model and what the hook keeps before them and after.
  void train(const MeshCase& given, const char* from, int end, const char* to, const Look& look = nullptr) {
    run_mesh(given, [&](const World& world) {
      World all = world;
      all.name = "files";
      const auto everybody = make_communicator(all, "shm");
      const auto hook = make_power_sgd_hook({.rank = 1, .start_step = 1, .min_compression = 1});
      auto options = options_of(given);
      options.replicas.ddp.hook = hook;
      MeshModel model(world, make_tiny(given), make_tokens(1, 1).inputs[0], options);
      model.learn_by(learning(OptimizerKind::adamw));
      int first = 0;
      if (from)
        first = static_cast<int>(model.load(directory_.path() / from, *everybody, Unchecked::refuse).step);
      if (look) look(model, hook->state(), world);
      train_mesh(model, given, first, end);
      save_checkpoint(directory_.path() / to, model.state(), {.step = end}, *everybody, {.sharded = true});
    });
  }

  torch::Tensor learnt(const MeshCase& given, const char* name) {
    const auto net = make_tiny(given);
    run_ddp(1, "shm", [&](const World&, Communicator& communicator) {
      load_checkpoint(directory_.path() / name, {tensors_of_model(*net)}, communicator);
      torch::save(flat_parameters(net->parameters()), path("flat"));
    });
    torch::Tensor flat;
    torch::load(flat, path("flat"));
    return flat;
  }

  std::string path(const std::string& name) const { return (directory_.path() / name).string(); }

 private:
  const TempDir directory_;
};

TEST_F(CompressedElsewhere, goes_on_alike_where_other_stages_hold_its_layers) {
  const MeshCase given{.mesh = {.dp = 2, .pp = 2}};
  train(given, nullptr, 4, "4");
  train(given, "4", 6, "stayed");
  train({.mesh = {.dp = 2, .pp = 4}}, "4", 6, "moved");
  EXPECT_LT((learnt(given, "moved") - learnt(given, "stayed")).abs().max().item<double>(), 1e-10);
}

TEST_F(CompressedElsewhere, has_the_mean_of_what_replicas_left_out_on_any_number_of_them) {
  const MeshCase given{.mesh = {.dp = 2, .tp = 2}};
  train(given, nullptr, 4, "4");
  const auto file = [&](const MeshModel& model, const std::string& name, int replica) {
    return path(fmt::format("{} {} {}", name, model.place().tensor, replica));
  };
  train(given, "4", 5, "stayed", [&](MeshModel& model, const HookState& kept, const World&) {
    ASSERT_FALSE(kept.own.empty());
    for (const auto& [name, left] : kept.own)
      torch::save(left.clone(), file(model, name, model.place().data));
  });
  for (const int replicas : {1, 4})
    train({.mesh = {.dp = replicas, .tp = 2}}, "4", 5, "moved",
          [&](MeshModel& model, const HookState& kept, const World&) {
            ASSERT_FALSE(kept.own.empty());
            for (const auto& [name, left] : kept.own) {
              torch::Tensor first, second;
              torch::load(first, file(model, name, 0));
              torch::load(second, file(model, name, 1));
              EXPECT_FALSE(torch::equal(first, second)) << name;
              EXPECT_TRUE(torch::allclose(left, (first + second) / 2, 1e-6, 1e-12)) << name;
            }
          });
}

// What is left out of a part is not left out of a whole.
TEST_F(CompressedElsewhere, begins_anew_where_layers_are_cut_into_other_parts) {
  const MeshCase given{.mesh = {.dp = 2, .tp = 2}};
  train(given, nullptr, 4, "4");
  const auto saved = learnt(given, "4");
  for (const int parts : {1, 4}) {
    train({.mesh = {.dp = 2, .tp = parts}, .recompute = parts == 1}, "4", 4, "moved",
          [](MeshModel&, const HookState& kept, const World&) { EXPECT_TRUE(kept.own.empty()); });
    EXPECT_TRUE(torch::equal(learnt(given, "moved"), saved)) << "what was learnt is there";
    train({.mesh = {.dp = 2, .tp = parts}, .recompute = parts == 1}, "4", 6, "moved");
    EXPECT_FALSE(torch::equal(learnt(given, "moved"), saved));
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

}  // namespace
}  // namespace gradwire
