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

template <typename T, std::size_t N>
std::string_view name_of(T value, const std::array<std::pair<std::string_view, T>, N>& names) {
  for (const auto& [name, known] : names)
    if (known == value) return name;
  return "?";
}

constexpr std::array<std::pair<std::string_view, Precision>, 5> kPrecisions = {{{"fp32", Precision::fp32},
                                                                                {"tf32", Precision::tf32},
                                                                                {"fp16", Precision::fp16},
                                                                                {"amp-fp16", Precision::fp16},
                                                                                {"bf16", Precision::bf16}}};
constexpr std::array<std::pair<std::string_view, Distribution>, 10> kDistributions = {
    {{"ddp", Distribution::ddp},
     {"horovod", Distribution::horovod},
     {"tf-replicated", Distribution::tf_replicated},
     {"dataparallel", Distribution::dataparallel},
     {"none", Distribution::none},
     {"megatron-dp", Distribution::ddp},
     {"paddle", Distribution::ddp},
     {"byteps", Distribution::horovod},
     {"mxnet", Distribution::horovod},
     {"mirrored", Distribution::tf_replicated}}};
constexpr std::array<std::pair<std::string_view, Compression>, 4> kCompressions = {
    {{"none", Compression::none},
     {"fp16", Compression::fp16},
     {"bf16", Compression::fp16},
     {"powersgd", Compression::powersgd}}};

void check_range(std::string_view what, double value, double low, double high) {
  if (!(value >= low && value <= high))
    throw ConfigError(fmt::format("{} of {:g}: write {:g} to {:g}", what, value, low, high));
}

int gradient_bytes(const std::string& name) {
  if (name == "fp32") return 4;
  if (name == "fp16" || name == "bf16") return 2;
  throw ConfigError(fmt::format("--gradients {}: there are fp32, fp16, bf16", name));
}

void check_optimizer(const std::string& name) {
  const std::vector<std::string> known = {"sgd", "adam", "adamw", "lamb"};
  if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end())
    throw ConfigError(fmt::format("--optimizer {:.40}: there are {}{}", name, join(known, ", "),
                                  did_you_mean(name, known)));
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

std::string_view to_string(Precision precision) { return name_of(precision, kPrecisions); }
std::string_view to_string(Distribution distribution) { return name_of(distribution, kDistributions); }
std::string_view to_string(Compression compression) { return name_of(compression, kCompressions); }

Precision parse_precision(std::string_view text) { return parse("precision", text, kPrecisions); }
Distribution parse_distribution(std::string_view text) {
  return parse("way to distribute", text, kDistributions);
}
Compression parse_compression(std::string_view text) { return parse("compression", text, kCompressions); }

std::optional<int> sequence_of(const StepFlags& flags) {
  return flags.sequence > 0 ? std::optional(flags.sequence) : std::nullopt;
}

StepOptions step_options(const StepFlags& flags, const Workload& workload) {
  check_optimizer(flags.optimizer);
  StepOptions options;
  options.batch = flags.batch > 0 ? flags.batch : workload.batch;
  options.accumulate = flags.accumulate;
  options.precision = parse_precision(flags.precision);
  options.gradient_bytes = gradient_bytes(flags.gradients);
  options.compression = parse_compression(flags.compression);
  options.buckets.rest = static_cast<Bytes>(flags.bucket_mb * (1 << 20));
  options.buckets.first = std::min(options.buckets.first, options.buckets.rest);
  options.zero1 = flags.zero1;
  options.distribution = parse_distribution(flags.distribution);
  // What starts an all-reduce when its gradient is there; TensorFlow as it comes, without XLA.
  const bool hides =
      options.distribution == Distribution::ddp || options.distribution == Distribution::tf_replicated;
  if (hides || flags.no_overlap) options.overlap = !flags.no_overlap;
  options.optimizer = flags.optimizer;
  options.data = flags.data_ms / 1e3;
  options.backend = parse_backend(flags.backend);
  options.nccl = nccl_settings(flags.nccl);
  if (flags.step_ms != 0) options.anchor = Anchor{flags.step_ms / 1e3, options.batch, 1, options.precision};
  check_options(options);
  return options;
}

}  // namespace gradwire
