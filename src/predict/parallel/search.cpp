#include "predict/parallel/search.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

#include "base/error.h"
#include "predict/parallel/advice.h"

namespace gradwire {
namespace {

constexpr int kUsualShare = 8;   // sequences a GPU, where nobody says
constexpr int kMostTensor = 64;  // wider slices leave products too thin
constexpr int kMostMicroBatch = 64;
constexpr double kDeviations = 1.28155 * 1.25;  // from a mean absolute error to eight of ten

std::vector<int> divisors(int number, int most) {
  std::vector<int> all;
  for (int i = 1; i <= std::min(number, most); ++i)
    if (number % i == 0) all.push_back(i);
  return all;
}

std::vector<int> only(const std::optional<int>& asked, std::vector<int> otherwise) {
  if (!asked) return otherwise;
  return {*asked};
}

// Stages times chunks that the layers can be cut into: no more than there are layers.
std::vector<int> chunk_counts(const PlanQuestion& question, int stages, int micro_batches) {
  if (question.virtual_stages) return {*question.virtual_stages};
  std::vector<int> counts{1};
  if (stages == 1 || micro_batches % stages != 0) return counts;
  for (const int chunks : {2, 4})
    if (question.shape.layers % (stages * chunks) == 0) counts.push_back(chunks);
  return counts;
}

class Enumerator {
 public:
  Enumerator(const PlanQuestion& question, int gpus, int per_node)
      : question_(question), gpus_(gpus), per_node_(per_node), batch_(batch_of(question, gpus)) {}

  std::vector<ParallelLayout> all() {
    const auto& shape = question_.shape;
    for (const int tp : only(question_.tp, divisors(gpus_, std::min(kMostTensor, shape.heads)))) {
      if (tp < 1 || gpus_ % tp != 0 || shape.heads % tp != 0) continue;
      for (const int pp : only(question_.pp, divisors(gpus_ / tp, shape.layers))) {
        if (pp < 1 || gpus_ / tp % pp != 0 || pp > shape.layers) continue;
        const int dp = gpus_ / tp / pp;
        if ((question_.dp && *question_.dp != dp) || batch_ % dp != 0) continue;
        add_mesh({.dp = dp, .tp = tp, .pp = pp});
      }
    }
    return std::move(layouts_);
  }

 private:
  void add_mesh(const Mesh& mesh) {
    const int share = batch_ / mesh.dp;
    for (const int micro_batch : only(question_.micro_batch, powers(std::min(share, kMostMicroBatch)))) {
      if (micro_batch < 1 || share % micro_batch != 0) continue;
      for (const int chunks : chunk_counts(question_, mesh.pp, share / micro_batch))
        for (const int shard : shards(mesh))
          for (const auto recompute : recomputations()) {
            ParallelLayout layout;
            layout.mesh = mesh;
            layout.virtual_stages = chunks;
            layout.schedule = chunks > 1 ? StageSchedule::interleaved : StageSchedule::one_f_one_b;
            layout.micro_batch = micro_batch;
            layout.micro_batches = share / micro_batch;
            layout.shard = shard;
            layout.recompute = recompute;
            layout.sequence_parallel = mesh.tp > 1;
            layout.precision = question_.precision;
            layout.offload_optimizer = question_.offload;
            layout.gradient_bytes = gradient_bytes(shard);
            layout.state_bytes = adam_bytes(question_.precision);
            layout.expert_parallel = experts(mesh);
            layouts_.push_back(layout);
          }
    }
  }

  // Added up and joined in 32 bits, as Megatron-LM does; where parameters are sharded too, as wide as they, as FSDP
  // does by default (docs/parallel.md).
  int gradient_bytes(int shard) const { return shard == 3 ? number_bytes(question_.precision) : 4; }

  static std::vector<int> powers(int most) {
    std::vector<int> all;
    for (int i = 1; i <= most; i *= 2) all.push_back(i);
    return all;
  }

  std::vector<int> shards(const Mesh& mesh) const {
    if (question_.shard) return {*question_.shard};
    if (mesh.dp == 1) return {0};
    if (mesh.pp > 1)
      return {0, 1};  // gathering or scattering for each micro-batch undoes what a pipeline saves
    return {0, 1, 2, 3};
  }

  std::vector<Recompute> recomputations() const {
    if (question_.recompute) return {*question_.recompute};
    return {Recompute::none, Recompute::full};
  }

  // Experts spread over a node's replicas first, and over all of them if they are that many.
  int experts(const Mesh& mesh) const {
    if (!question_.shape.moe()) return 1;
    if (question_.expert_parallel) return *question_.expert_parallel;
    int most = 1;
    for (const int size : divisors(question_.shape.experts, std::min(mesh.dp * mesh.tp, per_node_)))
      if (mesh.dp * mesh.tp % size == 0) most = size;
    return most;
  }

  const PlanQuestion& question_;
  int gpus_, per_node_, batch_;
  std::vector<ParallelLayout> layouts_;
};

std::vector<PlanTraffic> traffic_of(const PlanProblem& problem, const PlanParts& parts, GroupWires& wires) {
  const auto& layout = problem.layout;
  const auto& mesh = layout.mesh;
  const auto& times = problem.wires;
  const double each = layout.micro_batches, again = layout.recompute == Recompute::full ? 2 : 1;
  const double layers = double(problem.layers) / mesh.pp;
  std::vector<PlanTraffic> all;
  const auto add = [&](TrafficKind kind, const char* what, const AllReduceEstimate& way, Seconds time,
                       Seconds shown) {
    all.push_back({kind, what, way.path, time, shown, way.doubt});
  };
  if (mesh.tp > 1)
    add(TrafficKind::tensor, "tensor parallelism", wires.large(mesh.tp, 1),
        each * layers * (again * times.tensor_forward + times.tensor_backward), parts.tensor);
  if (mesh.pp > 1)
    add(TrafficKind::pipeline, "pipeline", wires.large_message(mesh.stride(MeshDimension::pipeline)),
        message_time(problem), parts.messages);
  if (layout.expert_parallel > 1)
    add(TrafficKind::experts, "experts", wires.large(layout.expert_parallel, 1),
        each * layers * (again * times.expert_forward + times.expert_backward), parts.expert);
  if (mesh.dp > 1)
    add(TrafficKind::replicas, layout.shard == 3 ? "parameters and gradients" : "gradients",
        wires.large(mesh.dp, mesh.tp),
        each * (times.gather_forward + times.gather_backward + times.scatter) + times.join + times.spread,
        parts.replicas + parts.slowdown);
  return all;
}

bool better(const PlannedStep& a, const PlannedStep& b) {
  if (a.fits != b.fits) return a.fits;
  return a.fits ? a.step < b.step : a.memory.total() < b.memory.total();
}

// The best of each tp, pp and shard, so that what is shown differs.
std::vector<PlannedStep> best_of_each(const std::vector<PlannedStep>& all, int most) {
  std::vector<PlannedStep> chosen;
  std::map<std::tuple<int, int, int>, int> seen;
  for (const auto& plan : all) {
    if (static_cast<int>(chosen.size()) == most) break;
    if (seen[{plan.layout.mesh.tp, plan.layout.mesh.pp, plan.layout.shard}]++ == 0) chosen.push_back(plan);
  }
  return chosen;
}

void check_question(const PlanQuestion& question, const Machine& machine) {
  check_sizes(question.shape);
  const int gpus = static_cast<int>(machine.gpus.size());
  if (gpus == 0 || machine.gpu.bf16_flops + machine.gpu.fp16_flops + machine.gpu.fp32_flops <= 0)
    throw ConfigError(fmt::format("{}: nothing is known of its GPUs; see gradwire list gpus", machine.name));
  if (!has_products(machine.gpu, question.precision))
    throw ConfigError(fmt::format(
        "{} has no products in {}: 8-bit ones begin with Ada and Hopper, 4-bit ones with Blackwell",
        machine.gpu.name, to_string(question.precision)));
  for (const auto& [name, size] :
       {std::pair{"--dp", question.dp}, {"--tp", question.tp}, {"--pp", question.pp}})
    if (size && (*size < 1 || gpus % *size != 0))
      throw ConfigError(fmt::format("{} {}: {} has {}, write a divisor of that", name, *size, machine.name,
                                    counted_gpus(gpus)));
  if (question.tp && question.shape.heads % *question.tp != 0)
    throw ConfigError(fmt::format("--tp {}: {} has {} heads, write a divisor of that", *question.tp,
                                  question.shape.name, question.shape.heads));
}

}  // namespace

int batch_of(const PlanQuestion& question, int gpus) {
  return question.batch > 0 ? question.batch : kUsualShare * gpus;
}

std::vector<ParallelLayout> candidate_layouts(const PlanQuestion& question, int gpus, int per_node) {
  return Enumerator(question, gpus, per_node).all();
}

bool has_nvlink(const Machine& machine) {
  for (const auto& link : machine.topology.links())
    if (link.kind == LinkKind::nvlink) return true;
  return false;
}

std::optional<Machine> with_nvlink_switched(const Machine& machine) {
  auto node = machine.node;
  const auto& gpu = machine.gpu;
  if (machine.gpus_per_node() < 2 || (!has_nvlink(machine) && gpu.nvlink_links == 0)) return std::nullopt;
  node.nvlink_gen = node.nvlink_links_per_gpu = node.nvlink_links_per_pair = std::nullopt;
  node.nvlinks.clear();
  if (has_nvlink(machine)) {
    node.intra = Intra::pcie;
  } else {
    node.matrix.reset();
    node.intra = gpu.nvswitch ? Intra::nvswitch : Intra::nvlink_pairs;
  }
  try {
    return build_machine(node, machine.nodes, machine.network);
  } catch (const ConfigError&) {
    return std::nullopt;  // such a node can't be described: nothing is said of it
  }
}

PlanAnswer make_plans(const PlanQuestion& question, const Machine& machine, int most,
                      const ParallelModel& model) {
  check_question(question, machine);
  const int gpus = static_cast<int>(machine.gpus.size());
  const auto layouts = candidate_layouts(question, gpus, machine.gpus_per_node());
  if (layouts.empty())
    throw ConfigError(
        fmt::format("{} can't be split that way over {}: sizes must divide GPUs, heads, layers and "
                    "the batch of {} sequences",
                    question.shape.name, counted_gpus(gpus), batch_of(question, gpus)));
  GroupWires wires(machine, question.nccl);
  PlanAnswer answer;
  answer.usable_bytes = usable_memory(machine.gpu);
  answer.candidates = static_cast<int>(layouts.size());
  answer.batch = layouts.front().sequences();
  std::vector<PlannedStep> all;
  for (const auto& layout : layouts) {
    PlannedStep plan;
    plan.layout = layout;
    plan.memory = plan_memory(question.shape, layout);
    plan.fits = plan.memory.total() <= answer.usable_bytes;
    answer.fitting += plan.fits;
    plan.parts = price_plan(make_problem(question.shape, layout, wires), model.values);
    plan.step = plan.parts.total();
    plan.samples_per_s = layout.sequences() / plan.step;
    all.push_back(plan);
  }
  std::stable_sort(all.begin(), all.end(), better);
  answer.plans = best_of_each(all, most);
  const auto other = with_nvlink_switched(machine);
  std::optional<GroupWires> other_wires;
  if (other) other_wires.emplace(*other, question.nccl);
  const double width = std::exp(kDeviations * model.error_alone);
  for (auto& plan : answer.plans) {
    plan.low = plan.step / width;
    plan.high = plan.step * width;
    plan.traffic = traffic_of(make_problem(question.shape, plan.layout, wires), plan.parts, wires);
    if (!other) continue;
    const Seconds there =
        price_plan(make_problem(question.shape, plan.layout, *other_wires), model.values).total();
    plan.nvlink_speedup = has_nvlink(machine) ? there / plan.step : plan.step / there;
  }
  if (answer.fitting == 0) answer.advice = what_would_fit(question, machine, answer.plans.front());
  return answer;
}

}  // namespace gradwire
