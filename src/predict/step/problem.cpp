#include "predict/step/problem.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <unordered_map>

#include "base/error.h"
#include "predict/step/step.h"

namespace gradwire {
namespace {

constexpr double kMemoryShare =
    0.8;  // of the data sheet's bandwidth: AIConfigurator's figure, facts/hardware
constexpr Bytes kHorovodFusion = Bytes{64} << 20;  // HOROVOD_FUSION_THRESHOLD's default

double optimizer_bytes(OptimizerKind optimizer, const StepConstants& constants) {
  if (optimizer == OptimizerKind::lamb) return constants.lamb_bytes;
  const bool adam = optimizer == OptimizerKind::adam || optimizer == OptimizerKind::adamw;
  return adam ? constants.adam_bytes : constants.sgd_bytes;
}

Seconds memory_time(const Gpu& gpu, double bytes) {
  return bytes / (std::max(1e9, gpu.memory_bytes_per_s) * kMemoryShare);
}

// Rank-1 PowerSGD sends a row and a column of each matrix.
Bytes travelling(std::uint64_t elements, const StepOptions& options) {
  if (options.compression == Compression::powersgd)
    return static_cast<Bytes>(2 * std::sqrt(double(elements))) * static_cast<Bytes>(options.gradient_bytes);
  const int bytes = is_half(options.compression) ? 2 : options.gradient_bytes;
  return elements * static_cast<Bytes>(bytes);
}

// Parameter tensors in registration order, and the share of backward after which each gradient is there.
struct Gradients {
  std::vector<BucketItem> items;
  std::vector<Bytes> travel;
  std::vector<double> ready;
};

Gradients gradients_of(const Workload& workload, const LayerTimes& times, const StepOptions& options) {
  Gradients gradients;
  const double total = std::accumulate(times.backward.begin(), times.backward.end(), 0.0);
  double left = total;  // backward begins with the last layer: a layer is done when those before it are left
  std::vector<double> done(workload.layers.size());
  for (std::size_t i = workload.layers.size(); i-- > 0;)
    done[i] = (total - (left -= times.backward[i])) / total;
  for (std::size_t i = 0; i < workload.layers.size(); ++i)
    for (const auto elements : workload.layers[i].tensors) {
      gradients.items.push_back({elements * static_cast<Bytes>(options.gradient_bytes), 0});
      gradients.travel.push_back(travelling(elements, options));
      gradients.ready.push_back(done[i]);
    }
  return gradients;
}

bool is_recorded(const StepOptions& options) { return options.anchor && options.anchor->recorded; }

// A layer of a recorded model is a bucket: they stay as they are unless others are asked for.
BucketCaps caps_of(const StepOptions& options) {
  if (is_recorded(options) && options.buckets == BucketCaps{}) return {1, 1};
  if (options.distribution == Distribution::horovod) return {kHorovodFusion, kHorovodFusion};
  return options.buckets;
}

std::vector<ReadyBucket> ready_buckets(const Gradients& gradients, const StepOptions& options,
                                       const Wires& wires) {
  std::vector<ReadyBucket> ready;
  std::unordered_map<Bytes, Seconds> known;  // large models have tens of thousands of buckets of few sizes
  for (const auto& bucket : assign_buckets(gradients.items, caps_of(options))) {
    ReadyBucket one;
    for (const int member : bucket.members) {
      one.bytes += gradients.travel[static_cast<std::size_t>(member)];
      one.ready = std::max(one.ready, gradients.ready[static_cast<std::size_t>(member)]);
    }
    const auto [time, fresh] = known.try_emplace(one.bytes, 0);
    if (fresh && wires.ranks > 1) time->second = wires.all_reduce(one.bytes);
    one.time = time->second;
    ready.push_back(one);
  }
  return ready;
}

// Anchored: the measured step less the optimizer is what a micro-batch of its size takes; another batch or
// precision scales as the roofline does.
LayerTimes anchored_times(const Workload& workload, const Gpu& gpu, const StepOptions& options,
                          Seconds optimizer, const Roofline& roofline) {
  auto times = layer_times(workload, gpu, options.precision, options.batch, roofline);
  if (!options.anchor) return times;
  const auto& anchor = *options.anchor;
  const auto precision = anchor.precision.value_or(options.precision);
  const double same = anchor.batch == options.batch && precision == options.precision
                          ? times.total()
                          : layer_times(workload, gpu, precision, anchor.batch, roofline).total();
  const double measured = (anchor.step - optimizer) / anchor.accumulate;
  times.scale(measured / same);
  return times;
}

Bytes buffer_bytes(const Workload& workload) {
  Bytes sum = 0;  // running mean and variance, fp32
  for (const auto& layer : workload.layers)
    if (layer.kind == LayerKind::normalization && workload.family == Family::cnn && layer.tensors.size() == 2)
      sum += 2 * 4 * layer.tensors[0];
  return sum;
}

void add_costs(StepProblem& problem, const Workload& workload, const Gpu& gpu, const Wires& wires) {
  const double gradient = double(parameter_count(workload)) * problem.options.gradient_bytes;
  const auto& options = problem.options;
  problem.copies = memory_time(gpu, 4 * gradient);  // in and out, each read and written
  if (options.compression == Compression::powersgd) problem.copies += memory_time(gpu, 6 * gradient);
  if (options.distribution == Distribution::tf_replicated || options.distribution == Distribution::none)
    problem.copies = 0;
  if (wires.ranks == 1) return;
  if (const auto bytes = buffer_bytes(workload); options.distribution == Distribution::ddp && bytes > 0)
    problem.buffers = wires.all_reduce(bytes) / 2;
  if (options.distribution == Distribution::tf_replicated && wires.nodes == 1)
    problem.staged = 2.0 * (wires.ranks - 1) * wires.staged_share / wires.sockets;
}

// Another batch or precision stretches what is computed as it stretches the layers; `same` is what they take as recorded.
void take_recorded_parts(StepProblem& problem, Seconds same) {
  const Breakdown& parts = *problem.options.anchor->recorded;
  const double stretch = (problem.forward + problem.backward) / same;
  problem.forward = stretch * parts.forward;
  problem.backward = stretch * parts.backward;
  problem.optimizer = parts.optimizer;
  problem.between = parts.other;
  if (problem.options.data == 0) problem.options.data = parts.data;
  problem.tensors = 0;  // hooks and copies into buckets ran in the recorded backward
  problem.copies = 0;
}

// What communication slowed is in the recorded backward, as long as it ran beside it. On other wires only what runs beside it
// for longer slows it further, so on its own wires a run gives its own step; and on better ones computing stays as it was
// measured: how fast it is undisturbed, the record does not tell. Slowing backward lets more of them run beside it: the
// fixed point, from below.
void slow_by_what_is_new(StepProblem& problem, const StepConstants& constants) {
  constexpr int kMostRounds = 20;
  constexpr double kClose = 1e-4;
  const Seconds contained = problem.options.anchor->recorded->comm_overlapped;
  const double whole = lost_pace(problem, constants);
  problem.on_processor = true;
  double slowdown = 0;
  for (int round = 0; round < kMostRounds && problem.ranks > 1; ++round) {
    for (auto& bucket : problem.buckets) bucket.slowdown = slowdown;
    const Seconds beside = solve(problem, constants).parts.comm_overlapped;
    const double next = beside > contained ? whole * (1 - contained / beside) : 0;
    if (next <= slowdown + kClose) break;
    slowdown = next;
  }
}

// Of presets/gpus.yaml, by how much it computes for each byte of its memory's rate.
Gpu middle_gpu() {
  const auto intensity = [](const Gpu& gpu) { return gpu.fp32_flops / gpu.memory_bytes_per_s; };
  auto all = all_gpus();
  const auto middle = all.begin() + static_cast<std::ptrdiff_t>(all.size() / 2);
  std::nth_element(all.begin(), middle, all.end(),
                   [&](const Gpu& a, const Gpu& b) { return intensity(a) < intensity(b); });
  return *middle;
}

}  // namespace

double lost_pace(const StepProblem& problem, const StepConstants& constants) {
  const double direct = constants.slowdown_direct, host = constants.slowdown_host;
  if (problem.host_share == 0 || problem.staged > 0) return direct;
  return std::max(problem.host_share * host, std::min(direct, host));
}

double run_spread(const StepProblem& problem) {
  if (problem.options.distribution == Distribution::tf_replicated) return problem.staged > 0 ? 0.10 : 0.035;
  return problem.family == Family::other ? 0.10 : problem.family == Family::transformer ? 0.065 : 0.035;
}

StepProblem make_problem(const Workload& workload, const Gpu& gpu, const Wires& wires,
                         const StepOptions& given, const StepConstants& constants, const Roofline& roofline) {
  check_options(given);
  // A measured step says how long computing takes. The GPU then only divides it among the layers and prices
  // copies of the gradient, where one of the middle stands in for one that is not known.
  if (gpu.fp32_flops == 0 && given.anchor)
    return make_problem(workload, middle_gpu(), wires, given, constants, roofline);
  StepProblem problem;
  auto& options = problem.options = given;
  if (options.batch == 0) options.batch = workload.batch;
  options.optimizer = optimizer_of(options, workload);
  problem.ranks = wires.ranks;
  problem.nodes = wires.nodes;
  problem.host_share = wires.through_host ? wires.host_share : 0;
  problem.wire_error = wires.relative_error;
  problem.family = workload.family;
  problem.tensors = tensor_count(workload);
  problem.optimizer =
      memory_time(gpu, double(parameter_count(workload)) * optimizer_bytes(options.optimizer, constants));
  // However an optimizer is written, it is not most of a measured step.
  if (options.anchor) problem.optimizer = std::min(problem.optimizer, 0.4 * options.anchor->step);
  const Seconds modelled_optimizer = problem.optimizer;
  const auto times = anchored_times(workload, gpu, options, modelled_optimizer, roofline);
  problem.forward = std::accumulate(times.forward.begin(), times.forward.end(), 0.0);
  problem.backward = std::accumulate(times.backward.begin(), times.backward.end(), 0.0);
  const auto gradients = gradients_of(workload, times, options);
  problem.buckets = ready_buckets(gradients, options, wires);
  for (const auto& bucket : problem.buckets) problem.gradient_bytes += bucket.bytes;
  add_costs(problem, workload, gpu, wires);
  if (!is_recorded(options)) return problem;
  take_recorded_parts(problem, (options.anchor->step - modelled_optimizer) / options.anchor->accumulate);
  slow_by_what_is_new(problem, constants);
  return problem;
}

}  // namespace gradwire
