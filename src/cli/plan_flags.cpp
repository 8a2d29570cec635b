#include "cli/plan_flags.h"

#include <CLI/CLI.hpp>

#include "cli/usage.h"

namespace gradwire {
namespace {

std::optional<int> if_given(int value, int none) {
  return value == none ? std::nullopt : std::optional(value);
}

}  // namespace

bool PlanSizes::any() const {
  return dp + tp + pp + micro_batch + chunks + experts > 0 || shard >= 0 || !recompute.empty() || offload;
}

void add_plan_sizes(CLI::App& verb, PlanSizes& sizes) {
  verb.add_option("--dp", sizes.dp, "data parallelism: replicas")->check(within(1, 1 << 20));
  verb.add_option("--tp", sizes.tp, "tensor parallelism: GPUs that share a layer")->check(within(1, 1 << 20));
  verb.add_option("--pp", sizes.pp, "pipeline stages")->check(within(1, 1 << 20));
  verb.add_option("--ep", sizes.experts, "GPUs that experts are spread over")->check(within(1, 1 << 20));
  verb.add_option("--chunks", sizes.chunks, "pieces of the model a stage holds (interleaved schedule)")
      ->check(within(1, 1024));
  verb.add_option("--shard", sizes.shard, "along dp: 0 nothing, 1 optimizer, 2 gradients, 3 parameters")
      ->check(within(0, 3));
  verb.add_option("--micro-batch", sizes.micro_batch, "sequences at a time")->check(within(1, 1 << 20));
  verb.add_option("--recompute", sizes.recompute, "activations: none selective full");
  verb.add_flag("--offload", sizes.offload, "the optimizer's state lives in host memory");
}

void apply(const PlanSizes& sizes, PlanQuestion& question) {
  question.dp = if_given(sizes.dp, 0);
  question.tp = if_given(sizes.tp, 0);
  question.pp = if_given(sizes.pp, 0);
  question.shard = if_given(sizes.shard, -1);
  question.micro_batch = if_given(sizes.micro_batch, 0);
  question.virtual_stages = if_given(sizes.chunks, 0);
  question.expert_parallel = if_given(sizes.experts, 0);
  if (!sizes.recompute.empty()) question.recompute = parse_recompute(sizes.recompute);
  question.offload = sizes.offload;
}

}  // namespace gradwire
