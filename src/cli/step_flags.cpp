#include "cli/step_flags.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"
#include "cli/usage.h"

namespace gradwire {
namespace {

int gradient_bytes(const std::string& name) {
  if (name == "fp32") return 4;
  if (name == "fp16" || name == "bf16") return 2;
  throw ConfigError(fmt::format("--gradients {}: there are fp32, fp16, bf16", name));
}

}  // namespace

void add_step_flags(CLI::App& verb, StepFlags& flags) {
  verb.add_option("--batch", flags.batch, "samples a GPU takes a step; the model's usual one if not given")
      ->check(within(1, 1 << 20));
  verb.add_option("--sequence", flags.sequence, "tokens of a sample, for models that have them")
      ->check(within(1, 1 << 20));
  verb.add_option("--precision", flags.precision, "of computing: fp32 tf32 fp16 bf16")->capture_default_str();
  verb.add_option("--step-ms", flags.step_ms,
                  "a step of this batch measured on one GPU without DDP: far better than the roofline")
      ->check(within(0.001, 1e9));
  verb.add_option("--accumulate", flags.accumulate, "micro-batches between two all-reduces")
      ->capture_default_str()
      ->check(within(1, 1 << 20));
  verb.add_option("--bucket-mb", flags.bucket_mb, "DDP's bucket_cap_mb")
      ->capture_default_str()
      ->check(within(0.001, 1e6));
  verb.add_option("--gradients", flags.gradients, "fp32 fp16 bf16")->capture_default_str();
  verb.add_option("--compress", flags.compression, "communication hook: none fp16 bf16 powersgd")
      ->capture_default_str();
  verb.add_flag("--zero1", flags.zero1, "each rank updates its share of the parameters (ZeRO stage 1)");
  verb.add_option("--distribution", flags.distribution, "ddp horovod tf-replicated dataparallel none")
      ->capture_default_str();
  verb.add_flag("--no-overlap", flags.no_overlap, "all-reduce only when backward is over");
  verb.add_option("--optimizer", flags.optimizer, "sgd adam lamb; the model's usual one if not given");
  verb.add_option("--data-ms", flags.data_ms, "a step waits this long for its input")->check(within(0, 1e8));
}

std::optional<int> sequence_of(const StepFlags& flags) {
  return flags.sequence > 0 ? std::optional(flags.sequence) : std::nullopt;
}

namespace {

void check_optimizer(const std::string& name) {
  const std::vector<std::string> known = {"sgd", "adam", "adamw", "lamb"};
  if (!name.empty() && std::find(known.begin(), known.end(), name) == known.end())
    throw ConfigError(fmt::format("--optimizer {:.40}: there are {}{}", name, join(known, ", "),
                                  did_you_mean(name, known)));
}

}  // namespace

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
  options.backend = flags.backend;
  options.nccl = nccl_settings_here();
  if (flags.step_ms != 0) options.anchor = Anchor{flags.step_ms / 1e3, options.batch, 1, options.precision};
  check_options(options);
  return options;
}

}  // namespace gradwire
