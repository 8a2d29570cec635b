#include "predict/parallel/price.h"

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

using C = ParallelConstant;

constexpr double kA100Balance = 312e12 / (2.039e12 / 2);  // flops of the 16-bit peak a number from memory
constexpr double kMemory = 0.8;         // of the data sheet's rate, as in presets/roofline.yaml
constexpr double kBestProducts = 0.87;  // of the peak at most: what is achieved best (ml-engineering, MAMF)
constexpr double kBackwardAttention = 2.5;  // five products against two (Dao 2022, arXiv:2205.14135)

double value(const ParallelValues& values, C constant) { return values[static_cast<std::size_t>(constant)]; }

// Share of the peak that large products reach.
double product_share(const PlanProblem& problem, const ParallelValues& values) {
  // Numbers twice as wide bring half as many flops a byte.
  const double numbers_per_s = problem.memory_bytes_per_s / number_bytes(problem.layout.precision);
  const double balance = problem.wide_peak / numbers_per_s / kA100Balance;
  const double share = value(values, C::matmul) * std::pow(balance, -value(values, C::balance));
  const double clock = problem.desktop ? value(values, C::desktop) : 1;
  return std::min(kBestProducts, share) * clock *
         (problem.peak > 1.5 * problem.wide_peak ? value(values, C::fp8) : 1);
}

struct Pass {
  Seconds products = 0, attention = 0, elements = 0, frozen = 0;
};

Pass forward_pass(const PlanProblem& problem, const ParallelValues& values) {
  const auto& layer = problem.layer;
  const double share = product_share(problem, values), memory = problem.memory_bytes_per_s * kMemory;
  Pass pass;
  pass.products =
      layer.matmul_flops / (problem.peak * share) + layer.matmuls * value(values, C::kernel) * 1e-6;
  const double attention = layer.attention_bytes > 0 ? share : value(values, C::attention) * layer.head_share;
  pass.attention = layer.attention_flops / (problem.wide_peak * attention) + layer.attention_bytes / memory;
  const double fusion = problem.layout.compiled ? value(values, C::fusion) : 1;
  pass.elements = layer.element_bytes * value(values, C::elements) * fusion / memory;
  pass.frozen = layer.frozen_bytes * value(values, C::frozen) / memory;
  return pass;
}

// The schedule along the pipeline, in micro-batches' worth of an average stage that nobody works.
double idle_stages(const ParallelLayout& layout) {
  const double fill = layout.mesh.pp - 1;
  switch (layout.schedule) {
    case PipelineSchedule::interleaved:
      return fill / layout.virtual_stages;
    case PipelineSchedule::zb1p:
      return fill / 3;  // Qi et al. 2023, arXiv:2401.10241: weights' gradients fill the rest
    case PipelineSchedule::zb2p:
      return 0;
    default:
      return fill;
  }
}

struct Replicas {
  Seconds shown = 0, hidden = 0;
};

void hide(Replicas& sum, Seconds collective, Seconds compute, double times) {
  const Seconds under = std::min(collective, compute);
  sum.hidden += times * under;
  sum.shown += times * (collective - under);
}

}  // namespace

Seconds PlanParts::total() const {
  return compute + again + tensor + context + expert + bubble + messages + replicas + slowdown + optimizer +
         host + other;
}

LayerTime layer_time(const PlanProblem& problem, const ParallelValues& values) {
  const auto pass = forward_pass(problem, values);
  const bool frozen = problem.layout.frozen();
  LayerTime time;
  time.forward = pass.products + pass.attention + pass.elements + pass.frozen;
  // Frozen weights have no gradient: only that of their input is computed.
  time.backward = (frozen ? 1 : 2) * pass.products + kBackwardAttention * pass.attention + 2 * pass.elements +
                  pass.frozen;
  if (problem.layout.recompute == Recompute::full) time.again = time.forward;
  if (problem.layout.recompute == Recompute::selective) time.again = pass.attention;
  time.backward += time.again;
  const double share = product_share(problem, values);
  const double logits = problem.logits * value(values, C::output) / (problem.memory_bytes_per_s * kMemory);
  time.output_forward = problem.output_flops / (problem.peak * share) + logits / 2;
  time.output_backward = (frozen ? 1 : 2) * problem.output_flops / (problem.peak * share) + logits / 2;
  for (Seconds* part :
       {&time.forward, &time.backward, &time.again, &time.output_forward, &time.output_backward})
    *part *= problem.layout.pace.value_or(1);
  return time;
}

Seconds message_time(const PlanProblem& problem) {
  const auto& layout = problem.layout;
  return 2 * (layout.micro_batches + idle_stages(layout)) * layout.virtual_stages * problem.wires.message;
}

PlanParts price_plan(const PlanProblem& problem, const ParallelValues& values) {
  const auto& layout = problem.layout;
  const auto& wires = problem.wires;
  const auto time = layer_time(problem, values);
  const double stages = layout.mesh.pp, count = layout.micro_batches;
  const double again =
      layout.recompute == Recompute::full ? 1 : 0;  // collectives of a forward made once more
  const double average = problem.layers / stages, most = std::ceil(average), least = std::floor(average);

  const Seconds layer = time.forward + time.backward, output = time.output_forward + time.output_backward;
  const double tensor_share = value(values, C::tensor);
  const Seconds tensor = tensor_share * ((1 + again) * wires.tensor_forward + wires.tensor_backward);
  const Seconds ring =
      layout.context == ContextKind::ring ? 0.5 * layer : 0;  // attention hides what a ring sends
  const Seconds context = std::max(0.0, (1 + again) * wires.context_forward + wires.context_backward - ring);
  const Seconds expert = (1 + again) * wires.expert_forward + wires.expert_backward;
  const Seconds inside = tensor + context + expert;
  const Seconds mean_stage = average * (layer + inside) + output / stages;
  const Seconds busiest = std::max(most * (layer + inside), least * (layer + inside) + output);

  PlanParts parts;
  parts.compute = count * (average * (layer - time.again) + output / stages);
  parts.forward = count * (average * time.forward + time.output_forward / stages);
  parts.again = count * average * time.again;
  parts.tensor = count * average * tensor;
  parts.context = count * average * context;
  parts.expert = count * average * expert;
  parts.bubble = count * (busiest - mean_stage) + idle_stages(layout) * mean_stage;
  // However well messages hide, a wire carries one after another: a step takes no less than all of them one way.
  const Seconds one_way = count * layout.virtual_stages * wires.message;
  parts.messages = std::max(message_time(problem) * value(values, C::stage), one_way - parts.total());

  const double hiding = layout.overlap ? value(values, C::hiding) : 0;
  const Seconds forward = hiding * (average * time.forward + time.output_forward / stages);
  const Seconds backward = hiding * (average * time.backward + time.output_backward / stages);
  Replicas replicas;
  hide(replicas, wires.gather_forward, forward, count);
  hide(replicas, wires.gather_backward + wires.scatter, backward, count);
  hide(replicas, wires.join, backward, 1);
  hide(replicas, wires.spread, layout.overlap_update ? forward : 0, 1);
  parts.replicas = replicas.shown;
  parts.slowdown = value(values, C::slowdown) * replicas.hidden;

  parts.optimizer = problem.updated * value(values, C::update) / (problem.memory_bytes_per_s * kMemory);
  parts.host = (problem.host_bytes + count * problem.host_micro_bytes) /
               (problem.host_bytes_per_s * value(values, C::host));
  parts.other = count * value(values, C::micro) * 1e-3;
  // The slowest of n draws from a normal distribution lies sqrt(2 ln n) deviations out, roughly.
  parts.other +=
      value(values, C::spread) * std::sqrt(2 * std::log(std::max(1, problem.ranks))) * parts.total();
  return parts;
}

}  // namespace gradwire
