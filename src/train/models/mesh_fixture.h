// What tests of models on meshes share: small transformers in float64, what they learn from, and every rank's gradients and
// parameters beside those of one process.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <functional>
#include <map>
#include <memory>
#include <string>
#include <string_view>

#include "train/job/mesh_model.h"
#include "train/tensor/tensor_fixture.h"

namespace gradwire {

inline constexpr TransformerShape kTiny{
    .layers = 4, .width = 16, .heads = 4, .context = 8, .vocabulary = 21, .tied = false};
inline constexpr int kMicroBatches = 4, kSamples = 2;  // of a micro-batch

struct MeshCase {
  Mesh mesh;
  bool sequence = false, recompute = false, tied = false, bert = false;
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int virtual_stages = 1;
  const char* backend = "shm";
  int shard = 0;
  MeshWires wires = {};  // instead of the backend's, where there are any
};

inline std::shared_ptr<Net> make_tiny(const MeshCase& given, double dropout = 0) {
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
inline TokenSamples make_tokens(int replicas, std::uint64_t seed) {
  torch::manual_seed(seed);
  const auto inputs = torch::randint(0, 21, {replicas * kMicroBatches, kSamples, 8}, torch::kLong);
  return {inputs, (inputs * 3 + 1).remainder(21)};
}

inline torch::Tensor loss_alone(Net& net, const TokenSamples& samples) {
  return loss_of(net.forward(samples.inputs.view({-1, 8})), samples.targets.view({-1, 8}));
}

// Of what one replica of the mesh has of the samples.
inline double loss_alone(Net& net, const TokenSamples& samples, int replica) {
  const torch::NoGradGuard no_grad;
  const auto part = [&](const torch::Tensor& whole) {
    return whole.narrow(0, replica * kMicroBatches, kMicroBatches);
  };
  return loss_alone(net, {part(samples.inputs), part(samples.targets)}).item<double>();
}

inline MeshModelOptions options_of(const MeshCase& given) {
  MeshModelOptions options;
  options.mesh = given.mesh;
  options.pipeline = {given.schedule, given.mesh.pp, kMicroBatches, given.virtual_stages};
  options.sequence_parallel = given.sequence;
  options.recompute = given.recompute;
  options.wires = given.wires.tensors ? given.wires : mesh_wires(given.backend);
  options.type = torch::kFloat64;
  options.replicas.shard = given.shard;
  return options;
}

// Backends that tell hosts apart ("shm+tcp") get two: even ranks on the one, odd ranks on the other.
inline void run_mesh(const MeshCase& given, const std::function<void(const World&)>& test) {
  expect_all_ok(run_processes(given.mesh.ranks(),
                              [&](const World& world) {
                                torch::set_num_threads(1);
                                if (std::string_view(given.backend).find('+') != std::string_view::npos)
                                  ::setenv("GRADWIRE_HOST", world.rank % 2 == 0 ? "even" : "odd", 1);
                                test(world);
                                const auto everybody = make_communicator(world);
                                everybody->run(barrier());
                              },
                              {.deadline = 110, .timeout = 60}));
}

// What this rank holds is what it should of the whole model's tensor: a piece of a part.
inline void expect_own_parts(MeshModel& model,
                             const std::function<torch::Tensor(const ParameterPiece&)>& value,
                             const std::map<std::string, torch::Tensor>& whole) {
  for (const auto& piece : model.pipeline().pieces()) {
    const auto& [cut, parts, index] = piece.part;
    const auto part = part_of(whole.at(piece.name), cut, parts, index).view({-1});
    EXPECT_LT(difference(value(piece), part.narrow(0, piece.begin, piece.values.numel())), 1e-10)
        << piece.name;
  }
}

inline void expect_own_gradients(MeshModel& model, torch::nn::Module& alone) {
  const auto parameters = model.pipeline().parameters();
  expect_own_parts(
      model, [&](const ParameterPiece& piece) { return gradient_of(piece, parameters); },
      gradients_by_name(alone));
}

inline void expect_own_values(MeshModel& model, torch::nn::Module& alone) {
  std::map<std::string, torch::Tensor> values;
  for (const auto& item : alone.named_parameters()) values[item.key()] = item.value().detach();
  expect_own_parts(
      model, [](const ParameterPiece& piece) { return piece.values; }, values);
}

// Losses and gradients of each step, and parameters after the last, beside one process's.
inline void check_mesh_case(const World& world, const MeshCase& given, int steps) {
  auto alone = make_tiny(given);
  MeshModel model(world, make_tiny(given), make_tokens(1, 1).inputs[0], options_of(given));
  torch::optim::SGD own(model.pipeline().parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  torch::optim::SGD whole(alone->parameters(), torch::optim::SGDOptions(0.1).momentum(0.9));
  for (int step = 0; step < steps; ++step) {
    const auto samples = make_tokens(given.mesh.dp, 10 + static_cast<std::uint64_t>(step));
    alone->zero_grad();
    loss_alone(*alone, samples).backward();
    model.pipeline().zero_grad();
    const double loss = model.step(samples.of(model.place().data));
    if (model.pipeline().is_last()) {
      EXPECT_NEAR(loss, loss_alone(*alone, samples, model.place().data), 1e-10) << "step " << step;
    }
    expect_own_gradients(model, *alone);
    own.step();
    whole.step();
  }
  expect_own_values(model, *alone);
}

inline TrainOptions learning(OptimizerKind optimizer, Precision precision = Precision::fp64) {
  TrainOptions options;
  options.optimizer = optimizer;
  options.precision = precision;
  options.learning_rate = 1e-2;
  return options;
}

}  // namespace gradwire
