// Transformers on every mesh of up to eight ranks: gradients of one process, equal parameters where ranks share them after
// 20 steps, and the loss of one process.
#include <gtest/gtest.h>

#include <cmath>

#include "train/job/mesh_model.h"
#include "train/tensor/tensor_fixture.h"

namespace gradwire {
namespace {

constexpr TransformerShape kTiny{
    .layers = 4, .width = 16, .heads = 4, .context = 8, .vocabulary = 21, .tied = false};
constexpr int kMicroBatches = 4, kSamples = 2;  // of a micro-batch

struct MeshCase {
  Mesh mesh;
  bool sequence = false, recompute = false, tied = false, bert = false;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int virtual_stages = 1;
  const char* backend = "shm";
};

std::shared_ptr<Net> make_tiny(const MeshCase& given, double dropout = 0) {
  torch::manual_seed(4);
  TransformerShape shape = kTiny;
  shape.tied = given.tied;
  const auto net = given.bert ? make_bert(shape) : make_gpt(shape);
  net->to(torch::kFloat64);
  for (const auto& module : net->modules())
    if (auto* layer = module->as<torch::nn::Dropout>()) layer->options.p(dropout);
  return net;
}

// [replicas x micro-batches, samples, tokens]; the same on every rank.
struct TokenSamples {
  torch::Tensor inputs, targets;
  MicroBatches of(int replica) const {
    MicroBatches mine;
    for (int i = 0; i < kMicroBatches; ++i) {
      mine.inputs.push_back(inputs[replica * kMicroBatches + i]);
      mine.targets.push_back(targets[replica * kMicroBatches + i]);
    }
    return mine;
  }
};
TokenSamples make_tokens(int replicas, std::uint64_t seed) {
  torch::manual_seed(seed);
  const auto inputs = torch::randint(0, 21, {replicas * kMicroBatches, kSamples, 8}, torch::kLong);
  return {inputs, (inputs * 3 + 1).remainder(21)};
}

torch::Tensor loss_alone(Net& net, const TokenSamples& samples) {
  return loss_of(net.forward(samples.inputs.view({-1, 8})), samples.targets.view({-1, 8}));
}

MeshModelOptions options_of(const MeshCase& given) {
  MeshModelOptions options;
  options.mesh = given.mesh;
  options.pipeline = {given.schedule, given.mesh.pp, kMicroBatches, given.virtual_stages};
  options.sequence_parallel = given.sequence;
  options.recompute = given.recompute;
  options.backend = given.backend;
  options.type = torch::kFloat64;
  return options;
}

void run_mesh(const MeshCase& given, const std::function<void(const World&)>& test) {
  expect_all_ok(run_processes(given.mesh.ranks(),
                              [&](const World& world) {
                                torch::set_num_threads(1);
                                test(world);
                                const auto everybody = make_communicator(world, "shm");
                                everybody->run(barrier());
                              },
                              {.deadline = 110, .timeout = 60}));
}

// Every parameter this rank holds is its part of the whole model's tensor.
void expect_own_parts(MeshModel& model, const MeshCase& given,
                      const std::function<torch::Tensor(const torch::Tensor&)>& value,
                      const std::map<std::string, torch::Tensor>& whole) {
  for (const auto& chunk : model.pipeline().chunks()) {
    const auto cuts = cuts_of(*chunk);
    for (const auto& item : chunk->named_parameters()) {
      const auto part =
          part_of(whole.at(item.key()), cuts.at(item.key()), given.mesh.tp, model.place().tensor);
      EXPECT_LT(difference(value(item.value()), part), 1e-10) << item.key();
    }
  }
}

// Gradients after a step, and parameters and losses after several more, beside one process's.
void check_mesh_case(const World& world, const MeshCase& given, int steps) {
  auto alone = make_tiny(given);
  MeshModel model(world, make_tiny(given), make_tokens(1, 1).inputs[0], options_of(given));
  torch::optim::SGD own(model.pipeline().parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  torch::optim::SGD whole(alone->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < steps; ++step) {
    const auto samples = make_tokens(given.mesh.dp, 10 + static_cast<std::uint64_t>(step));
    alone->zero_grad();
    loss_alone(*alone, samples).backward();
    model.pipeline().zero_grad();
    model.step(samples.of(model.place().data));
    expect_own_parts(
        model, given, [](const torch::Tensor& t) { return t.grad(); }, gradients_by_name(*alone));
    own.step();
    whole.step();
  }
  std::map<std::string, torch::Tensor> values;
  for (const auto& item : alone->named_parameters()) values[item.key()] = item.value().detach();
  expect_own_parts(
      model, given, [](const torch::Tensor& t) { return t.detach(); }, values);
}

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

TEST_P(EveryMesh, has_them_with_sequence_parallelism_recomputation_and_tied_ends) {
  MeshCase given{.mesh = GetParam(), .recompute = true, .tied = true};
  given.sequence = given.mesh.tp > 1;
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

TEST(MeshModels, of_bert_interleaved_stages_and_other_wires_have_the_gradients_of_one_process) {
  const MeshCase cases[] = {
      {.mesh = {.tp = 2, .pp = 2}, .sequence = true, .tied = true, .bert = true},
      {.mesh = {.dp = 2, .tp = 2}, .tied = true, .bert = true},
      {.mesh = {.tp = 2, .pp = 2}, .schedule = PipelineSchedule::interleaved, .virtual_stages = 2},
      {.mesh = {.dp = 2, .pp = 2}, .schedule = PipelineSchedule::gpipe},
      {.mesh = {.dp = 1, .tp = 2, .pp = 2}, .sequence = true, .recompute = true, .backend = "tcp"}};
  for (const MeshCase& given : cases)
    run_mesh(given, [&](const World& world) { check_mesh_case(world, given, 2); });
}

TEST(MeshModels, clip_by_the_norm_of_the_whole_model) {
  const MeshCase given{.mesh = {.dp = 2, .tp = 2, .pp = 2}, .tied = true};
  run_mesh(given, [&](const World& world) {
    auto alone = make_tiny(given);
    const auto samples = make_tokens(2, 3);
    loss_alone(*alone, samples).backward();
    MeshModel model(world, make_tiny(given), samples.inputs[0], options_of(given));
    model.step(samples.of(model.place().data));
    World all = world;
    all.name = "clip";  // another than the one that ends the test
    const auto everybody = make_communicator(all, "shm");
    const double norm = model.clip_grad_norm(0.01, *everybody);
    EXPECT_NEAR(norm, torch::nn::utils::clip_grad_norm_(alone->parameters(), 0.01), 1e-10);
    expect_own_parts(
        model, given, [](const torch::Tensor& t) { return t.grad(); }, gradients_by_name(*alone));
    everybody->run(barrier());
  });
}

TEST(MeshModels, test_as_one_process_does) {
  const MeshCase given{.mesh = {.tp = 2, .pp = 2}, .sequence = true};
  run_mesh(given, [&](const World& world) {
    auto alone = make_tiny(given);
    const auto samples = make_tokens(1, 3);
    MeshModel model(world, make_tiny(given), samples.inputs[0], options_of(given));
    const auto input = samples.inputs.view({-1, 8}), target = samples.targets.view({-1, 8});
    const auto [classes, loss] = model.test(input, target);
    ASSERT_EQ(classes.defined(), model.place().pipeline == 1 && model.place().tensor == 0);
    if (!classes.defined()) return;
    EXPECT_TRUE(torch::equal(classes, alone->forward(input).argmax(-1)));
    EXPECT_NEAR(loss, loss_alone(*alone, samples).item<double>(), 1e-10);
  });
}

}  // namespace
}  // namespace gradwire
