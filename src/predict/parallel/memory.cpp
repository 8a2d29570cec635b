#include "predict/parallel/memory.h"

#include <algorithm>
#include <cmath>
#include <utility>

namespace gradwire {
namespace {

constexpr double kWorkspace = 1.5e9;  // NCCL's buffers, cuBLAS's workspace, the CUDA context
constexpr double kUsable = 0.94;      // caching allocators leave holes

double tokens_of(const TransformerSizes& shape, const ParallelLayout& layout) {
  return double(layout.micro_batch) * shape.sequence / layout.mesh.cp;
}

// Micro-batches whose activations the first stage holds at once, in stages' worth.
double in_flight(const ParallelLayout& layout) {
  const double stages = layout.mesh.pp, all = layout.micro_batches;
  switch (layout.schedule) {
    case PipelineSchedule::gpipe:
      return all;
    case PipelineSchedule::zb2p:
      return std::min(all, 2 * stages - 1);
    case PipelineSchedule::interleaved:
      return std::min(all, stages * (1 + (stages - 1) / (stages * layout.virtual_stages)));
    default:
      return std::min(all, stages);
  }
}

// Parameters on a GPU before anything is sharded. Of experts there are fewer copies than of the rest, so that less of them
// can be shared out.
struct HeldParameters {
  double rest = 0, experts = 0;
  double all() const { return rest + experts; }
};

HeldParameters held_parameters(const TransformerSizes& shape, const ParallelLayout& layout) {
  const auto layer = layer_weights(shape);
  const double layers = std::ceil(double(shape.layers) / layout.mesh.pp);
  const double tables = embedding_weights(shape) * (shape.tied || layout.mesh.pp > 1 ? 1 : 2);
  return {
      (layers * (layer.attention + layer.mlp + layer.norms) + tables + end_weights(shape)) / layout.mesh.tp,
      layers * layer.experts / layout.expert_pieces()};
}

// What is left of them on a GPU where a stage of sharding shares them out.
double shared_out(const HeldParameters& held, const ParallelLayout& layout, int from_stage) {
  if (layout.shard < from_stage) return held.all();
  return held.rest / layout.sharded_over() + held.experts / layout.experts_sharded_over();
}

double kept_activations(const TransformerSizes& shape, const ParallelLayout& layout) {
  const double tokens = tokens_of(shape, layout), layers = std::ceil(double(shape.layers) / layout.mesh.pp);
  const double one = layer_activations(shape, layout);
  const double input = number_bytes(layout.precision) * tokens * shape.hidden /
                       (layout.sequence_parallel ? layout.mesh.tp : 1);
  const bool full = layout.recompute == Recompute::full;
  double kept = in_flight(layout) * layers * (full ? input : one) + (full ? one : 0);
  if (layout.offload_activations) kept = 2 * one;
  // Logits and their gradient in 32 bits; the last of several stages has fewer micro-batches in flight instead.
  const double logits = 2 * 4 * tokens * shape.vocab / layout.mesh.tp;
  return layout.mesh.pp == 1 ? kept + logits : std::max(kept, kept / in_flight(layout) + logits);
}

}  // namespace

std::vector<std::pair<std::string, double>> PlanMemory::items() const {
  std::vector<std::pair<std::string, double>> all{{"weights", weights},
                                                  {"gradients", gradients},
                                                  {"optimizer", optimizer},
                                                  {"activations", activations},
                                                  {"buffers", buffers}};
  std::stable_sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.second > b.second; });
  return all;
}

double usable_memory(const Gpu& gpu) { return kUsable * double(gpu.memory_bytes); }

double layer_activations(const TransformerSizes& shape, const ParallelLayout& layout) {
  const double tokens = tokens_of(shape, layout), tp = layout.mesh.tp;
  const double inner =
      shape.moe() ? double(shape.expert_ffn) * shape.experts_per_token + shape.shared_ffn : shape.ffn;
  const bool again = layout.recompute == Recompute::selective && layout.fused_attention;
  // What two norms take and give, and masks: five numbers along the hidden width, split with sequence parallelism alone.
  // Computed again selectively: what norms give, and the activation function.
  const double wide = (again ? 3.0 : 5.0) * shape.hidden / (layout.sequence_parallel ? tp : 1);
  const double heads = shape.head_dim * (2.0 * shape.heads + 2.0 * shape.kv_heads) + shape.hidden;
  const double mlp = inner * (shape.mlp_matrices - (again ? 1 : 0));
  double numbers = tokens * (wide + (heads + mlp) / tp);
  const bool scores = !layout.fused_attention && layout.recompute == Recompute::none;
  if (scores) numbers += 2.5 * shape.heads * tokens * shape.sequence / tp;
  return number_bytes(layout.precision) * numbers;
}

PlanMemory plan_memory(const TransformerSizes& shape, const ParallelLayout& layout) {
  const auto held = held_parameters(shape, layout);
  const double trained = layout.frozen() ? 0.01 : 1;
  const double number = number_bytes(layout.precision);
  const double width = layout.tuning == Tuning::qlora ? 0.53 : number;
  PlanMemory memory;
  memory.weights = width * shared_out(held, layout, 3);
  memory.gradients = trained * layout.gradient_bytes * shared_out(held, layout, 2);
  memory.optimizer = trained * layout.state_bytes * shared_out(held, layout, 1);
  if (layout.offload_optimizer) memory.host = std::exchange(memory.optimizer, 0);
  if (layout.offload_parameters) memory.weights = 0;
  memory.activations = kept_activations(shape, layout);
  memory.buffers = kWorkspace;
  // Two units gathered at once, and a gradient on its way.
  if (layout.shard == 3)
    memory.buffers +=
        3 * held.all() * number / std::max(1.0, std::ceil(double(shape.layers) / layout.mesh.pp));
  return memory;
}

}  // namespace gradwire
