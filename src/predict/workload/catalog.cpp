#include "predict/workload/catalog.h"

#include <fmt/format.h>

#include <map>

#include "base/error.h"
#include "base/files.h"
#include "base/similar.h"
#include "predict/workload/builders.h"

namespace gradwire {
namespace {

constexpr auto kTorchvision = "https://pytorch.org/vision/stable/models.html";
constexpr auto kHuggingFace = "https://huggingface.co/docs/transformers";
constexpr auto kNvidia = "https://github.com/NVIDIA/DeepLearningExamples";
constexpr auto kGpt3 = "https://arxiv.org/abs/2005.14165";  // Table 2.1, with GPT-2's vocabulary
constexpr auto kMixtral = "https://arxiv.org/abs/2401.04088";
constexpr auto kLlama = "https://github.com/meta-llama/llama-models";

ModelEntry image(std::string_view name, std::string_view title, int batch, std::uint64_t parameters,
                 std::string_view source = kTorchvision) {
  return {name, title, Family::cnn, "image", 0, batch, "sgd", parameters, source};
}

ModelEntry text(std::string_view name, std::string_view title, int sequence, int batch,
                std::uint64_t parameters, std::string_view source = kHuggingFace) {
  return {name, title, Family::transformer, "sequence", sequence, batch, "adam", parameters, source};
}

std::vector<ModelEntry> entries() {
  return {
      image("resnet18", "ResNet-18", 64, 11'689'512),
      image("resnet34", "ResNet-34", 64, 21'797'672),
      image("resnet50", "ResNet-50", 64, 25'557'032),
      image("resnet101", "ResNet-101", 64, 44'549'160),
      image("resnet152", "ResNet-152", 32, 60'192'808),
      image("resnext50-32x4d", "ResNeXt-50 32x4d", 64, 25'028'904),
      image("resnext101-32x8d", "ResNeXt-101 32x8d", 32, 88'791'336),
      image("resnext101-32x4d", "ResNeXt-101 32x4d", 64, 44'177'704, kNvidia),
      image("se-resnext101-32x4d", "SE-ResNeXt-101 32x4d", 64, 48'955'416, kNvidia),
      image("vgg16", "VGG-16", 64, 138'357'544),
      image("alexnet", "AlexNet", 256, 61'100'840),
      image("inception3", "Inception-v3, 299 x 299, without auxiliary classifier", 64, 23'834'568),
      image("inception4", "Inception-v4, 299 x 299", 32, 42'679'816,
            "https://github.com/Cadene/pretrained-models.pytorch"),
      image("ssd", "SSD300 on ResNet-50", 64, 22'894'902, kNvidia),
      text("bert-base", "BERT base", 128, 32, 109'482'240),
      text("bert-large", "BERT large", 384, 8, 335'141'888),
      text("bert-large-pretraining", "BERT large with the heads of pre-training", 128, 32, 336'226'108,
           kNvidia),
      text("electra-base", "ELECTRA base discriminator", 384, 16, 109'482'240),
      text("gpt2", "GPT-2 small", 1024, 4, 124'439'808),
      text("gpt2-medium", "GPT-2 medium", 1024, 4, 354'823'168),
      text("gpt2-large", "GPT-2 large", 1024, 2, 774'030'080),
      text("gpt2-xl", "GPT-2 XL", 1024, 1, 1'557'611'200),
      text("llama-7b", "Llama 2 7B", 2048, 1, 6'738'415'616, kLlama),
      text("llama-8b", "Llama 3 8B", 2048, 1, 8'030'261'248, kLlama),
      text("llama-13b", "Llama 2 13B", 2048, 1, 13'015'864'320, kLlama),
      text("llama-70b", "Llama 3 70B", 2048, 1, 70'553'706'496, kLlama),
      text("llama2-70b", "Llama 2 70B", 4096, 1, 68'976'648'192, kLlama),
      text("llama-405b", "Llama 3 405B", 8192, 1, 405'853'388'800, kLlama),
      text("tinyllama-1.1b", "TinyLlama 1.1B", 2048, 1, 1'100'048'384,
           "https://github.com/jzhang38/TinyLlama"),
      text("mistral-7b", "Mistral 7B", 4096, 1, 7'241'732'096,
           "https://huggingface.co/mistralai/Mistral-7B-v0.1"),
      text("mixtral-8x7b", "Mixtral 8x7B, 2 of 8 experts a token", 4096, 1, 46'702'792'704, kMixtral),
      text("mixtral-8x22b", "Mixtral 8x22B, 2 of 8 experts a token", 4096, 1, 140'620'634'112, kMixtral),
      text("qwen3-235b-a22b", "Qwen3 235B, 8 of 128 experts a token", 4096, 1, 235'093'634'560,
           "https://huggingface.co/Qwen/Qwen3-235B-A22B"),
      text("gpt3-1.3b", "GPT-3 XL", 2048, 1, 1'315'723'264, kGpt3),
      text("gpt3-6.7b", "GPT-3 6.7B", 2048, 1, 6'658'404'352, kGpt3),
      text("gpt3-13b", "GPT-3 13B, width 5120", 2048, 1, 12'853'386'240, kGpt3),
      text("gpt3-175b", "GPT-3 175B", 2048, 1, 174'604'259'328, kGpt3),
      {"vit-b-16", "ViT-B/16", Family::transformer, "image", 0, 64, "adam", 86'567'656, kTorchvision},
      {"vit-l-16", "ViT-L/16", Family::transformer, "image", 0, 32, "adam", 304'326'632, kTorchvision},
      text("bart-large", "BART large", 128, 16, 406'291'456),
      text("transformer-xl-base", "Transformer-XL base, WikiText-103", 192, 32, 191'948'759, kNvidia),
      text("transformer-xl-large", "Transformer-XL large, WikiText-103", 384, 8, 285'164'359, kNvidia),
      {"gnmt", "GNMT v2, 4 + 4 layers", Family::other, "sequence", 47, 128, "adam", 159'605'817, kNvidia},
      {"mlp", "three fully connected layers, 1024-2304-2304-1024", Family::other, "item", 0, 64, "sgd",
       10'032'640, "gradwire train mlp"},
      {"convnet", "convolutional network for 28 x 28 digits", Family::cnn, "image", 0, 64, "sgd", 1'199'882,
       "https://github.com/pytorch/examples/tree/main/mnist"},
      {"gpt-tiny", "GPT of 4 layers of 256 for a laptop", Family::transformer, "sequence", 128, 8, "adam",
       3'716'608, "gradwire train gpt-tiny"},
  };
}

[[noreturn]] void fail_unknown(std::string_view name) {
  std::vector<std::string> all;
  for (const auto& entry : all_models()) all.emplace_back(entry.name);
  throw ConfigError(
      fmt::format("'{:.60}' is not a model{}; see gradwire list models, or write a YAML file as "
                  "presets/models/example.yaml",
                  name, did_you_mean(name, all)));
}

// The longest sequence a model takes: its table of positions, which is among its parameters, or for Llama
// what it was trained for (Touvron et al. 2023, arXiv:2307.09288; Grattafiori et al. 2024, arXiv:2407.21783).
// Those that are not here count positions from each other.
const std::map<std::string_view, int> kContexts = {
    {"bert-base", 512},        {"bert-large", 512},     {"bert-large-pretraining", 512},
    {"electra-base", 512},     {"gpt2", 1024},          {"gpt2-medium", 1024},
    {"gpt2-large", 1024},      {"gpt2-xl", 1024},       {"bart-large", 1024},
    {"gpt-tiny", 128},         {"llama-7b", 4096},      {"llama-13b", 4096},
    {"llama-8b", 8192},        {"llama-70b", 8192},     {"llama2-70b", 4096},
    {"llama-405b", 8192},      {"gpt3-1.3b", 2048},     {"gpt3-6.7b", 2048},
    {"gpt3-13b", 2048},        {"gpt3-175b", 2048},     {"tinyllama-1.1b", 2048},
    {"mistral-7b", 32768},     {"mixtral-8x7b", 32768}, {"mixtral-8x22b", 65536},
    {"qwen3-235b-a22b", 32768}};

void check_sequence(const ModelEntry& entry, int sequence) {
  if (entry.sequence == 0)
    throw ConfigError(fmt::format("a sequence of {} tokens: {} takes {}s, which have none; leave it out",
                                  sequence, entry.name, entry.sample));
  const auto context = kContexts.find(entry.name);
  if (context != kContexts.end() && sequence > context->second)
    throw ConfigError(
        fmt::format("a sequence of {} tokens: {} takes 1 to {}", sequence, entry.name, context->second));
}

}  // namespace

const std::vector<ModelEntry>& all_models() {
  static const auto all = entries();
  return all;
}

std::optional<ModelEntry> find_model(std::string_view name) {
  for (const auto& entry : all_models())
    if (entry.name == name) return entry;
  return std::nullopt;
}

Workload build_model(std::string_view name, std::optional<int> sequence) {
  const auto entry = find_model(name);
  if (!entry) fail_unknown(name);
  if (sequence && (*sequence < 1 || *sequence > 1 << 20))
    throw ConfigError(fmt::format("a sequence of {} tokens: write 1 to 1048576", *sequence));
  const int tokens = entry->sequence == 0 ? 0 : sequence.value_or(entry->sequence);
  Workload workload{std::string(entry->name),
                    std::string(entry->title),
                    entry->family,
                    std::string(entry->sample),
                    tokens,
                    entry->batch,
                    std::string(entry->optimizer),
                    build_layers(name, tokens),
                    std::string(entry->source)};
  return workload;
}

Workload load_model(std::string_view name_or_file, std::optional<int> sequence) {
  const auto entry = find_model(name_or_file);
  if (entry && sequence) check_sequence(*entry, *sequence);
  if (entry || name_or_file.find_first_of("./") == std::string_view::npos)
    return build_model(name_or_file, sequence);
  if (sequence)
    throw ConfigError(
        fmt::format("a sequence of {} tokens: {} says what one of its samples costs; write the "
                    "numbers for that length there",
                    *sequence, name_or_file));
  return parse_model(read_file(name_or_file), name_or_file);
}

}  // namespace gradwire
