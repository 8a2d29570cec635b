#include "predict/step/options.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <utility>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"

namespace gradwire {
namespace {

template <typename T, std::size_t N>
T parse(std::string_view what, std::string_view text,
        const std::array<std::pair<std::string_view, T>, N>& names) {
  std::string known;
  for (const auto& [name, value] : names) {
    if (name == text) return value;
    known += (known.empty() ? "" : ", ") + std::string(name);
  }
  throw ConfigError(fmt::format("'{}' is not a {}: there are {}", text, what, known));
}

// A word as users and records write it, and what it names.
template <HasNames T>
using Word = std::pair<std::string_view, T>;

template <HasNames T>
constexpr Word<T> named(T value) {
  return {name_of(value), value};
}

constexpr std::array<Word<Distribution>, 10> kDistributions = {
    named(Distribution::ddp),           named(Distribution::horovod),
    named(Distribution::tf_replicated), named(Distribution::dataparallel),
    named(Distribution::none),          {"megatron-dp", Distribution::ddp},
    {"paddle", Distribution::ddp},      {"byteps", Distribution::horovod},
    {"mxnet", Distribution::horovod},   {"mirrored", Distribution::tf_replicated}};
constexpr std::array<Word<Compression>, 4> kCompressions = {
    named(Compression::none), named(Compression::fp16), named(Compression::bf16),
    named(Compression::powersgd)};

void check_range(std::string_view what, double value, double low, double high) {
  if (!(value >= low && value <= high))
    throw ConfigError(fmt::format("{} of {:g}: write {:g} to {:g}", what, value, low, high));
}

int gradient_bytes(const std::string& name) {
  const auto type = find_enumerator<Precision>(name);
  if (type == Precision::fp32) return 4;
  if (type && is_mixed(*type)) return 2;
  throw ConfigError(fmt::format("--gradients {}: there are fp32, fp16, bf16", name));
}

OptimizerKind parse_optimizer(const std::string& name) {
  const auto choices = {OptimizerKind::sgd, OptimizerKind::adam, OptimizerKind::adamw, OptimizerKind::lamb};
  const auto found = find_enumerator<OptimizerKind>(name);
  if (found == OptimizerKind::models_own || (found && std::ranges::count(choices, *found) > 0)) return *found;
  const auto known = names_of(choices);
  throw ConfigError(
      fmt::format("--optimizer {:.40}: there are {}{}", name, join(known, ", "), did_you_mean(name, known)));
}

}  // namespace

void check_options(const StepOptions& options) {
  check_range("a batch", options.batch, 0, 1e7);
  check_range("an accumulation", options.accumulate, 1, 1e7);
  check_range("a gradient element (bytes)", options.gradient_bytes, 1, 8);
  check_range("a first bucket (bytes)", double(options.buckets.first), 1, 1e13);
  check_range("a bucket (bytes)", double(options.buckets.rest), 1, 1e13);
  check_range("an input wait (seconds)", options.data, 0, 1e5);
  if (!options.anchor) return;
  check_range("a measured step (seconds)", options.anchor->step, 1e-6, 1e7);
  check_range("a measured step's batch", options.anchor->batch, 1, 1e7);
  check_range("a measured step's accumulation", options.anchor->accumulate, 1, 1e7);
}

Precision parse_precision(std::string_view text) {
  return parse_choice("--precision", text,
                      {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16});
}
Distribution parse_distribution(std::string_view text) {
  return parse("way to distribute", text, kDistributions);
}
Compression parse_compression(std::string_view text) { return parse("compression", text, kCompressions); }

OptimizerKind optimizer_in(std::string_view text) {
  const auto says = [&](OptimizerKind one) { return text.find(name_of(one)) != std::string_view::npos; };
  if (text.empty()) return OptimizerKind::models_own;
  if (says(OptimizerKind::lamb) || text.find("novo") != std::string_view::npos) return OptimizerKind::lamb;
  for (const auto one : {OptimizerKind::adamw, OptimizerKind::adam, OptimizerKind::sgd})
    if (says(one)) return one;
  return OptimizerKind::other;
}

OptimizerKind optimizer_of(const StepOptions& options, const Workload& workload) {
  return options.optimizer == OptimizerKind::models_own ? optimizer_in(workload.optimizer)
                                                        : options.optimizer;
}

std::optional<int> sequence_of(const StepFlags& flags) {
  return flags.sequence > 0 ? std::optional(flags.sequence) : std::nullopt;
}

StepOptions step_options(const StepFlags& flags, const Workload& workload) {
  StepOptions options;
  options.optimizer = parse_optimizer(flags.optimizer);
  options.batch = flags.batch > 0 ? flags.batch : workload.batch;
  options.accumulate = flags.accumulate;
  options.precision = parse_precision(flags.precision);
  options.gradient_bytes = gradient_bytes(flags.gradients);
  options.compression = parse_compression(flags.compression);
  options.buckets.rest = static_cast<Bytes>(flags.bucket_mb * (1 << 20));
  options.buckets.first = std::min(options.buckets.first, options.buckets.rest);
  options.distribution = parse_distribution(flags.distribution);
  // What starts an all-reduce when its gradient is there; TensorFlow as it comes, without XLA.
  const bool hides =
      options.distribution == Distribution::ddp || options.distribution == Distribution::tf_replicated;
  if (hides || flags.no_overlap) options.overlap = !flags.no_overlap;
  options.data = flags.data_ms / 1e3;
  options.backend = parse_backend(flags.backend);
  options.nccl = nccl_settings(flags.nccl);
  if (flags.step_ms != 0) options.anchor = Anchor{flags.step_ms / 1e3, options.batch, 1, options.precision};
  check_options(options);
  return options;
}

}  // namespace gradwire
