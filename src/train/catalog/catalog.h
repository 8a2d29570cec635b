// The models `gradwire train` knows, as data: what they are called, what they are made of, how large they
// are. Without torch, so that a program can say what exists without loading it. The counts of parameters are
// the published ones; tests hold the models against them.
#pragma once

#include <cstdint>
#include <span>
#include <string>
#include <string_view>

#include "sched/training.h"

namespace gradwire {

enum class ModelKind { mlp, convnet, resnet, gpt, bert };

struct TransformerShape {
  int layers = 0, width = 0, heads = 0, context = 0, vocabulary = 0;
  bool tied = true;  // the output layer is the token embedding
};

struct TrainableModel {
  std::string_view name;
  ModelKind kind;
  std::int64_t parameters;      // trainable, shared ones once
  std::string_view what;        // a line for people, with where the count is published
  TransformerShape shape = {};  // of gpt and bert
  int depth = 0;                // of resnet
  // What `train` takes unless told otherwise.
  int batch = 0;  // per rank
  OptimizerKind optimizer = OptimizerKind::sgd;
  double learning_rate = 0.05;
};

std::span<const TrainableModel> trainable_models();

// Throws ConfigError listing the names.
const TrainableModel& find_trainable(std::string_view name);

inline bool takes_text(const TrainableModel& model) {
  return model.kind == ModelKind::gpt || model.kind == ModelKind::bert;
}

}  // namespace gradwire
