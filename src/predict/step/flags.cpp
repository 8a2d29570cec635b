#include "predict/step/flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"

namespace gradwire {
namespace {

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
  if (options.distribution == Distribution::ddp) options.overlap = !flags.no_overlap;
  if (flags.no_overlap) options.overlap = false;
  options.optimizer = flags.optimizer;
  options.data = flags.data_ms / 1e3;
  options.backend = parse_backend(flags.backend);
  options.nccl = nccl_settings(flags.nccl);
  if (flags.step_ms != 0) options.anchor = Anchor{flags.step_ms / 1e3, options.batch, 1, options.precision};
  check_options(options);
  return options;
}

}  // namespace gradwire
