#include "cli/step_flags.h"

#include "cli/usage.h"

namespace gradwire {

void add_step_flags(CLI::App& verb, StepFlags& flags) {
  flags.nccl = nccl_environment();
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

}  // namespace gradwire
