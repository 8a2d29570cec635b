#include "train/catalog/catalog.h"

#include <array>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"

namespace gradwire {
namespace {

// Counts: torchvision's table of models (resnet18, resnet50); num_parameters() of Hugging Face's gpt2,
// gpt2-medium, -large and -xl (GPT2LMHeadModel) and of bert-base-uncased and bert-large-uncased
// (BertForMaskedLM); the network of PyTorch's examples/mnist. The rest is arithmetic, written beside it.
constexpr auto kModels = std::to_array<TrainableModel>({
    // 1024 x 2304 + 2304, 2304 x 2304 + 2304, 2304 x 1024 + 1024
    {.name = "mlp",
     .kind = ModelKind::mlp,
     .parameters = 10'032'640,
     .what = "1024-2304-2304-1024, ReLU",
     .batch = 64,
     .learning_rate = 0.005},
    {.name = "convnet",
     .kind = ModelKind::convnet,
     .parameters = 1'199'882,
     .what = "the network of PyTorch's MNIST example",
     .batch = 64,
     .learning_rate = 0.02},
    {.name = "resnet18",
     .kind = ModelKind::resnet,
     .parameters = 11'689'512,
     .what = "He et al. 2015, as in torchvision",
     .depth = 18,
     .batch = 8,
     .learning_rate = 0.01},
    {.name = "resnet50",
     .kind = ModelKind::resnet,
     .parameters = 25'557'032,
     .what = "He et al. 2015, as in torchvision",
     .depth = 50,
     .batch = 4,
     .learning_rate = 0.01},
    // 4 layers of 12 x 256^2 + 13 x 256, positions 128 x 256, last norm 512, embedding and output 1024 x 256
    // each
    {.name = "gpt-tiny",
     .kind = ModelKind::gpt,
     .parameters = 3'716'608,
     .what = "GPT-2's architecture, small enough for a laptop; output layer of its own",
     .shape = {.layers = 4, .width = 256, .heads = 4, .context = 128, .vocabulary = 1024, .tied = false},
     .batch = 8,
     .optimizer = OptimizerKind::adamw,
     .learning_rate = 1e-3},
    {.name = "gpt2",
     .kind = ModelKind::gpt,
     .parameters = 124'439'808,
     .what = "GPT-2 small, Radford et al. 2019",
     .shape = {.layers = 12, .width = 768, .heads = 12, .context = 1024, .vocabulary = 50257},
     .batch = 1,
     .optimizer = OptimizerKind::adamw,
     .learning_rate = 3e-4},
    {.name = "gpt2-medium",
     .kind = ModelKind::gpt,
     .parameters = 354'823'168,
     .what = "GPT-2 medium, Radford et al. 2019",
     .shape = {.layers = 24, .width = 1024, .heads = 16, .context = 1024, .vocabulary = 50257},
     .batch = 1,
     .optimizer = OptimizerKind::adamw,
     .learning_rate = 3e-4},
    {.name = "gpt2-large",
     .kind = ModelKind::gpt,
     .parameters = 774'030'080,
     .what = "GPT-2 large, Radford et al. 2019",
     .shape = {.layers = 36, .width = 1280, .heads = 20, .context = 1024, .vocabulary = 50257},
     .batch = 1,
     .optimizer = OptimizerKind::adamw,
     .learning_rate = 2e-4},
    {.name = "gpt2-xl",
     .kind = ModelKind::gpt,
     .parameters = 1'557'611'200,
     .what = "GPT-2 XL, Radford et al. 2019",
     .shape = {.layers = 48, .width = 1600, .heads = 25, .context = 1024, .vocabulary = 50257},
     .batch = 1,
     .optimizer = OptimizerKind::adamw,
     .learning_rate = 2e-4},
    {.name = "bert-base",
     .kind = ModelKind::bert,
     .parameters = 109'514'298,
     .what = "BERT base with its masked-word head, Devlin et al. 2018",
     .shape = {.layers = 12, .width = 768, .heads = 12, .context = 512, .vocabulary = 30522},
     .batch = 2,
     .optimizer = OptimizerKind::adamw,
     .learning_rate = 1e-4},
    {.name = "bert-large",
     .kind = ModelKind::bert,
     .parameters = 335'174'458,
     .what = "BERT large with its masked-word head, Devlin et al. 2018",
     .shape = {.layers = 24, .width = 1024, .heads = 16, .context = 512, .vocabulary = 30522},
     .batch = 1,
     .optimizer = OptimizerKind::adamw,
     .learning_rate = 1e-4},
});

}  // namespace

std::span<const TrainableModel> trainable_models() { return kModels; }

const TrainableModel& find_trainable(std::string_view name) {
  std::vector<std::string> names;
  for (const TrainableModel& model : kModels) {
    if (model.name == name) return model;
    names.emplace_back(model.name);
  }
  throw ConfigError(fmt::format("'{:.60}' is not a model: there are {}{}", name, join(names, ", "),
                                did_you_mean(name, names)));
}

}  // namespace gradwire
