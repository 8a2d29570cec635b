#include "predict/parallel/layout.h"

#include <fmt/format.h>

#include "base/error.h"
#include "topo/machine.h"

namespace gradwire {

int number_bytes(Precision precision) {
  return precision == Precision::fp32 || precision == Precision::tf32 ? 4 : 2;
}

int adam_bytes(Precision precision) { return number_bytes(precision) == 4 ? 8 : 12; }

Precision parse_plan_precision(std::string_view text) {
  return parse_choice("--precision", text,
                      {Precision::fp32, Precision::tf32, Precision::fp16, Precision::bf16, Precision::fp8,
                       Precision::mxfp8, Precision::nvfp4});
}

Recompute parse_recompute(std::string_view text) {
  if (const auto found = find_enumerator<Recompute>(text)) return *found;
  throw ConfigError(fmt::format("'{:.40}' is no recomputation: write none, selective or full", text));
}

std::string describe(const ParallelLayout& layout) {
  std::string text = layout.ranks() == 1 ? "one GPU" : to_string(layout.mesh);
  if (layout.virtual_stages > 1) text += fmt::format(", {} chunks a stage", layout.virtual_stages);
  if (layout.expert_parallel > 1) text += fmt::format(", ep {}", layout.expert_parallel);
  if (layout.shard > 0) text += fmt::format(", shard {}", layout.shard);
  if (layout.recompute != Recompute::none) text += fmt::format(", recompute {}", name_of(layout.recompute));
  if (layout.offload_optimizer || layout.offload_parameters) text += ", offload";
  return text;
}

void check_layout(const ParallelLayout& layout) {
  check_mesh(layout.mesh);
  if (layout.shard < 0 || layout.shard > 3)
    throw ConfigError(fmt::format("shard {}: write 0, 1, 2 or 3", layout.shard));
  if (layout.micro_batch < 1 || layout.micro_batches < 1 || layout.virtual_stages < 1 ||
      layout.expert_parallel < 1)
    throw ConfigError(
        fmt::format("micro-batches of {} sequences, {} of them, {} chunks, ep {}: write 1 or more",
                    layout.micro_batch, layout.micro_batches, layout.virtual_stages, layout.expert_parallel));
  if (layout.shard_size > layout.replicas())
    throw ConfigError(fmt::format("shards over {} ranks, and {} hold the same weights", layout.shard_size,
                                  layout.replicas()));
  if (const int ranks = layout.replicas() * layout.mesh.tp; ranks % layout.expert_parallel != 0)
    throw ConfigError(fmt::format("ep {}: a stage has {}, write a divisor of that", layout.expert_parallel,
                                  counted_gpus(ranks)));
}

}  // namespace gradwire
