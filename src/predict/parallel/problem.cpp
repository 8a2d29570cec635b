#include "predict/parallel/problem.h"

#include <algorithm>
#include <cmath>

#include "predict/step/compute.h"

namespace gradwire {
namespace {

constexpr int kAda = 89, kBlackwell = 100;

constexpr int generation_of(Precision precision) {
  switch (precision) {
    case Precision::fp8:
    case Precision::mxfp8:
      return kAda;
    case Precision::nvfp4:
      return kBlackwell;
    default:
      return 0;
  }
}

// Dense peak of the products. 8-bit ones double it from Ada and Hopper on, 4-bit ones double that on Blackwell
// (NVIDIA H100, RTX 4090 and B200 data sheets); where the hardware has none, the products are 16-bit ones.
double product_peak(const Gpu& gpu, Precision precision) {
  const double half = std::max({gpu.bf16_flops, gpu.fp16_flops, gpu.fp32_flops});
  switch (precision) {
    case Precision::fp32:
      return gpu.fp32_flops;
    case Precision::tf32:
      return std::max(gpu.tf32_flops, gpu.fp32_flops);
    case Precision::fp8:
    case Precision::mxfp8:
      return has_products(gpu, precision) ? 2 * half : half;
    case Precision::nvfp4:
      return has_products(gpu, precision) ? 4 * half : half;
    default:
      return half;
  }
}

// Data sheet of a slot, or of the link to a Grace.
double slot_rate(const Machine& machine) {
  if (machine.gpu.c2c_bytes_per_s > 0) return machine.gpu.c2c_bytes_per_s;
  const int gen = machine.node.pcie_gen.value_or(std::max(3, machine.gpu.pcie_gen));
  const int width = machine.node.pcie_width.value_or(16);
  return 0.985e9 * width * std::exp2(gen - 3);
}

class ProblemMaker {
 public:
  ProblemMaker(const TransformerSizes& shape, const ParallelLayout& layout, GroupWires& wires)
      : shape_(shape),
        layout_(layout),
        wires_(wires),
        weights_(layer_weights(shape)),
        number_(number_bytes(layout.precision)) {
    tokens_ = double(layout.micro_batch) * shape.sequence / layout.mesh.cp;
    stage_layers_ = double(shape.layers) / layout.mesh.pp;
  }

  PlanProblem make() {
    PlanProblem problem;
    const auto& machine = wires_.machine();
    problem.peak = product_peak(machine.gpu, layout_.precision);
    problem.wide_peak = product_peak(machine.gpu, number_ == 4 ? layout_.precision : Precision::bf16);
    problem.memory_bytes_per_s = machine.gpu.memory_bytes_per_s;
    problem.host_bytes_per_s = slot_rate(machine);
    problem.desktop = machine.gpu.desktop;
    problem.layer = layer();
    problem.output_flops = output_flops(shape_) * tokens_ / layout_.mesh.tp;
    problem.logits = tokens_ * shape_.vocab / layout_.mesh.tp;
    problem.layers = shape_.layers;
    problem.layout = layout_;
    problem.ranks = layout_.ranks();
    problem.sequence = shape_.sequence;
    add_parameters(problem);
    add_layer_wires(problem.wires);
    add_replica_wires(problem.wires);
    return problem;
  }

 private:
  double over_tensor(double value) const { return value / layout_.mesh.tp; }

  LayerWork layer() const {
    LayerWork work;
    work.matmul_flops = layer_flops(shape_) * tokens_ / layout_.mesh.tp;
    work.attention_flops = attention_flops(shape_) * tokens_ / layout_.mesh.tp;
    work.head_share = std::min(1.0, std::pow(shape_.head_dim / 128.0, 0.3));
    // The ranks of a ring see masks of different sizes and end together (Liu et al. 2023, arXiv:2310.01889).
    if (layout_.mesh.cp > 1 && layout_.context == ContextKind::ring && shape_.causal)
      work.attention_flops *= 1.5 - 0.5 / layout_.mesh.cp;
    const double pairs = tokens_ * shape_.sequence;
    // Scores written, read and written by a softmax, by dropout with its mask of a byte, and read, whole even where
    // causal: 13 bytes each of 16-bit numbers.
    if (!layout_.fused_attention)
      work.attention_bytes = over_tensor((1 + 6 * number_) * pairs * shape_.heads);
    // Norms, residuals and dropout along the hidden width, the activation along the inner one.
    const double inner =
        shape_.moe() ? double(shape_.expert_ffn) * shape_.experts_per_token + shape_.shared_ffn : shape_.ffn;
    const double wide = double(shape_.hidden) / (layout_.sequence_parallel ? layout_.mesh.tp : 1);
    const double heads = over_tensor(double(shape_.heads + 2 * shape_.kv_heads) * shape_.head_dim);
    work.element_bytes = number_ * tokens_ * (4 * wide + heads + over_tensor(shape_.mlp_matrices * inner));
    if (layout_.tuning == Tuning::qlora) work.frozen_bytes = number_ * over_tensor(weights_.held());
    work.matmuls = 2 + shape_.mlp_matrices + (shape_.moe() ? 2 : 0);
    return work;
  }

  double dense_parameters() const {
    const double tables = embedding_weights(shape_) * (shape_.tied ? 1 : 2) / layout_.mesh.pp;
    return over_tensor(stage_layers_ * (weights_.attention + weights_.mlp + weights_.norms) + tables);
  }
  double expert_parameters() const { return stage_layers_ * weights_.experts / layout_.expert_pieces(); }
  double sharded_parameters() const {
    return dense_parameters() / layout_.sharded_over() + expert_parameters() / layout_.experts_sharded_over();
  }

  void add_parameters(PlanProblem& problem) const {
    problem.parameters = dense_parameters() + expert_parameters();
    problem.updated = sharded_parameters();
    if (layout_.frozen()) problem.updated *= 0.01;  // adapters of rank 16 to 64 hold about a hundredth
    // States and gradients go to the host and back where the optimizer is there; weights each time they are used.
    if (layout_.offload_optimizer) problem.host_bytes = problem.updated * 2 * (layout_.state_bytes + number_);
    const double held = layout_.shard == 3 ? sharded_parameters() : problem.parameters;
    const double each = layout_.tuning == Tuning::qlora ? 0.5 : number_;
    if (layout_.offload_parameters) problem.host_micro_bytes = 2 * each * held;
    if (layout_.offload_activations)
      problem.host_micro_bytes += 2 * number_ * tokens_ * shape_.hidden * stage_layers_;
  }

  Seconds tensor_meeting() {
    const double bytes = number_ * tokens_ * shape_.hidden;
    if (!layout_.sequence_parallel) return wires_.time(Collective::all_reduce, layout_.mesh.tp, 1, bytes);
    return wires_.time(Collective::all_gather, layout_.mesh.tp, 1, bytes) +
           wires_.time(Collective::reduce_scatter, layout_.mesh.tp, 1, bytes);
  }

  void add_layer_wires(PlanWires& wires) {
    const auto& mesh = layout_.mesh;
    if (mesh.tp > 1) wires.tensor_forward = wires.tensor_backward = 2 * tensor_meeting();
    if (mesh.cp > 1) add_context_wires(wires);
    if (layout_.expert_parallel > 1 && shape_.moe()) {
      const double bytes = number_ * tokens_ * shape_.hidden * shape_.experts_per_token / mesh.tp;
      const double part = 1 - double(shape_.dense_layers) / shape_.layers;
      wires.expert_forward = wires.expert_backward =
          2 * part * wires_.time(Collective::all_to_all, layout_.expert_parallel, 1, bytes);
    }
    if (mesh.pp > 1)
      wires.message =
          wires_.transfer(mesh.stride(MeshDimension::pipeline),
                          number_ * tokens_ * shape_.hidden / (layout_.sequence_parallel ? mesh.tp : 1));
  }

  // A ring passes keys and values on under attention; Ulysses exchanges heads for tokens four times.
  void add_context_wires(PlanWires& wires) {
    const auto& mesh = layout_.mesh;
    if (layout_.context == ContextKind::ulysses) {
      const double bytes = over_tensor(number_ * tokens_ * shape_.heads * shape_.head_dim);
      wires.context_forward = wires.context_backward =
          4 * wires_.time(Collective::all_to_all, mesh.cp, mesh.tp, bytes);
      return;
    }
    const double bytes = over_tensor(2 * number_ * tokens_ * shape_.kv_heads * shape_.head_dim);
    wires.context_forward = wires_.time(Collective::all_gather, mesh.cp, mesh.tp, bytes * mesh.cp);
    wires.context_backward = 2 * wires.context_forward;
  }

  // Of a GPU. Layers with biases have one product for queries, keys and values, as GPT-2's, the others three, as LLaMA's;
  // and two norms.
  double tensors() const {
    const double layer = shape_.biases ? 2 * (2 + shape_.mlp_matrices) + 4 : 4 + shape_.mlp_matrices + 2;
    return std::max(1.0, stage_layers_ * layer);
  }

  // A layer's at once where collectives go on under compute, else all at once. Parameters that are sharded can't all be
  // gathered: each tensor travelled alone before units were laid flat (Rajbhandari et al. 2021, arXiv:2104.07857).
  double pieces() const {
    if (layout_.overlap) return std::max(1.0, stage_layers_);
    return layout_.shard == 3 ? tensors() : 1;
  }

  // Share of a layer's parameters that a second forward has released before backward comes to them: each is used again
  // after twice as many as follow it in the layer.
  double gathered_again() const {
    if (layout_.recompute != Recompute::full) return 0;
    const double layer = over_tensor(weights_.attention + weights_.mlp + weights_.norms) +
                         weights_.experts / layout_.expert_pieces();
    return std::max(0.0, 1 - layout_.kept_parameters / (2 * layer));
  }

  // Ranks that hold the same parameters, `stride` apart, and how many of them share one set out.
  struct Holders {
    double parameters;
    int copies, stride, shards;
  };

  Seconds by_layer(Collective collective, const Holders& holders, int size, double bytes) {
    if (size <= 1) return 0;
    return pieces() * wires_.time(collective, size, holders.stride, bytes / pieces());
  }

  // What each owner of tensors broadcasts, one after another: the next one to send mostly gets the last one's late.
  Seconds by_owner(const Holders& holders, double bytes) {
    const double owners = std::min(double(holders.shards), tensors());
    return owners * wires_.time(Collective::broadcast, holders.shards, holders.stride, bytes / owners);
  }

  void add_replica_wires(PlanWires& wires) {
    add_wires_of({dense_parameters(), layout_.replicas(), layout_.mesh.tp, layout_.sharded_over()}, wires);
    if (shape_.moe())
      add_wires_of({expert_parameters(), layout_.expert_copies(), layout_.expert_pieces(),
                    layout_.experts_sharded_over()},
                   wires);
  }

  void add_wires_of(const Holders& holders, PlanWires& wires) {
    const double trained = holders.parameters * (layout_.frozen() ? 0.01 : 1);
    const double gradients = trained * layout_.gradient_bytes;
    const double packed = layout_.tuning == Tuning::qlora ? 0.53 : number_;  // four bits and their scales
    const auto over_shards = [&](Collective collective, double bytes) {
      return by_layer(collective, holders, holders.shards, bytes);
    };
    if (layout_.shard == 3) {
      const Seconds gather = over_shards(Collective::all_gather, holders.parameters * packed);
      wires.gather_forward += gather;
      wires.gather_backward += gather * (1 + gathered_again());
    }
    if (layout_.shard >= 2)
      wires.scatter += over_shards(Collective::reduce_scatter, gradients);
    else if (layout_.shard == 1 && !layout_.whole_tensors)
      wires.join += over_shards(Collective::reduce_scatter, gradients);
    else
      wires.join += by_layer(Collective::all_reduce, holders, holders.copies, gradients);
    if (layout_.shard == 1 || layout_.shard == 2)
      wires.spread += layout_.whole_tensors ? by_owner(holders, trained * number_)
                                            : over_shards(Collective::all_gather, trained * number_);
    // Shards inside a part of the copies: their sums are joined between the parts, unless all have been.
    const bool joined = layout_.shard == 0 || (layout_.shard == 1 && layout_.whole_tensors);
    if (holders.shards < holders.copies && !joined)
      wires.join += wires_.time(Collective::all_reduce, holders.copies / holders.shards,
                                holders.stride * holders.shards, gradients / holders.shards);
  }

  const TransformerSizes& shape_;
  const ParallelLayout& layout_;
  GroupWires& wires_;
  LayerWeights weights_;
  double number_;  // bytes of one, as activations and parameters travel
  double tokens_ = 0, stage_layers_ = 0;
};

}  // namespace

bool has_products(const Gpu& gpu, Precision precision) {
  return sheet_flops(gpu, precision) > 0 && gpu.sm >= generation_of(precision);
}

Precision usual_precision(const Gpu& gpu) {
  if (gpu.bf16_flops > 0) return Precision::bf16;
  return gpu.fp16_flops > gpu.fp32_flops ? Precision::fp16 : Precision::fp32;
}

PlanProblem make_problem(const TransformerSizes& shape, const ParallelLayout& layout, GroupWires& wires) {
  check_sizes(shape);
  check_layout(layout);
  return ProblemMaker(shape, layout, wires).make();
}

}  // namespace gradwire
