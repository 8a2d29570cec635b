#include "predict/workload/workload.h"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <array>
#include <cmath>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr std::array<std::string_view, 7> kKinds = {"convolution", "matmul",        "attention",  "recurrent",
                                                    "embedding",   "normalization", "elementwise"};
constexpr double kMost = 1e15;  // a layer of 10^15 is a slip of the keyboard

void check_layer(const Workload& workload, const Layer& layer) {
  const auto fail = [&](std::string_view what, double value) {
    throw ConfigError(fmt::format("model '{}', layer '{}': {} is {}: write a number from 0 to 1e15",
                                  workload.name, layer.name, what, value));
  };
  const auto check_number = [&](std::string_view what, double value) {
    if (!std::isfinite(value) || value < 0 || value > kMost) fail(what, value);
  };
  check_number("flops", layer.flops);
  check_number("elements", layer.elements);
  for (const auto tensor : layer.tensors) check_number("a tensor", static_cast<double>(tensor));
}

}  // namespace

std::uint64_t parameter_count(const Workload& workload) {
  std::uint64_t sum = 0;
  for (const auto& layer : workload.layers)
    for (const auto tensor : layer.tensors) sum += tensor;
  return sum;
}

int tensor_count(const Workload& workload) {
  std::size_t sum = 0;
  for (const auto& layer : workload.layers) sum += layer.tensors.size();
  return static_cast<int>(sum);
}

double forward_flops(const Workload& workload) {
  double sum = 0;
  for (const auto& layer : workload.layers) sum += layer.flops;
  return sum;
}

std::string_view to_string(LayerKind kind) { return kKinds[static_cast<std::size_t>(kind)]; }

std::string_view to_string(Family family) {
  return family == Family::cnn ? "cnn" : family == Family::transformer ? "transformer" : "other";
}

std::optional<Family> find_family(std::string_view text) {
  for (const auto family : {Family::cnn, Family::transformer, Family::other})
    if (to_string(family) == text) return family;
  return std::nullopt;
}

LayerKind parse_layer_kind(std::string_view text) {
  for (std::size_t i = 0; i < kKinds.size(); ++i)
    if (kKinds[i] == text) return static_cast<LayerKind>(i);
  throw ConfigError(fmt::format("'{}' is not a kind of layer: there are {}", text, fmt::join(kKinds, ", ")));
}

void check_workload(const Workload& workload) {
  for (const auto& layer : workload.layers) check_layer(workload, layer);
  if (parameter_count(workload) == 0)
    throw ConfigError(fmt::format("model '{}' has no parameters: nothing to train", workload.name));
  if (static_cast<double>(parameter_count(workload)) > kMost)
    throw ConfigError(fmt::format("model '{}' has over 1e15 parameters", workload.name));
  if (workload.batch < 1)
    throw ConfigError(fmt::format("model '{}': batch is {}: write 1 or more", workload.name, workload.batch));
}

}  // namespace gradwire
