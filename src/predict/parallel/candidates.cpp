#include "predict/parallel/candidates.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstdint>

#include "base/error.h"
#include "predict/parallel/memory.h"
#include "predict/parallel/problem.h"
#include "predict/step/on_machine.h"

namespace gradwire {
namespace {

constexpr int kUsualShare = 8;   // sequences a GPU, where nobody says
constexpr int kMostTensor = 64;  // wider slices leave products too thin
constexpr int kMostMicroBatch = 64;
constexpr double kGib = 1 << 30;

std::vector<int> divisors(int number, int most) {
  std::vector<int> all;
  for (int i = 1; i <= std::min(number, most); ++i)
    if (number % i == 0) all.push_back(i);
  return all;
}

std::vector<int> powers_of_two(int most) {
  std::vector<int> all;
  for (int i = 1; i <= most; i *= 2) all.push_back(i);
  return all;
}

std::vector<int> only(const std::optional<int>& asked, std::vector<int> otherwise) {
  if (!asked) return otherwise;
  return {*asked};
}

// Whether so many chunks a stage can take turns: of a pipeline alone, each with a layer, its micro-batches in groups of as
// many as there are stages (Narayanan et al. 2021, arXiv:2104.04473). `train` refuses what this does.
bool can_interleave(const PlanQuestion& question, int chunks, int stages, int micro_batches) {
  if (chunks == 1) return true;
  return stages > 1 && micro_batches % stages == 0 && stages * chunks <= question.shape.layers;
}

// Chunks a stage; unasked for, those that the layers divide into.
std::vector<int> chunk_counts(const PlanQuestion& question, int stages, int micro_batches) {
  std::vector<int> counts{1};
  for (const int chunks : {2, 4})
    if (question.shape.layers % (stages * chunks) == 0) counts.push_back(chunks);
  counts = only(question.virtual_stages, std::move(counts));
  std::erase_if(counts, [&](int chunks) { return !can_interleave(question, chunks, stages, micro_batches); });
  return counts;
}

class Enumerator {
 public:
  Enumerator(const PlanQuestion& question, int gpus)
      : question_(question), gpus_(gpus), batch_(batch_of(question, gpus)) {}

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
    for (const int micro_batch :
         only(question_.micro_batch, powers_of_two(std::min(share, kMostMicroBatch)))) {
      if (micro_batch < 1 || share % micro_batch != 0) continue;
      ParallelLayout layout;
      layout.mesh = mesh;
      layout.micro_batch = micro_batch;
      layout.micro_batches = share / micro_batch;
      layout.sequence_parallel = mesh.tp > 1 && question_.sequence_parallel;
      layout.precision = question_.precision;
      layout.offload_optimizer = question_.offload;
      layout.state_bytes = adam_bytes(question_.precision);
      for (const int chunks : chunk_counts(question_, mesh.pp, layout.micro_batches)) {
        layout.virtual_stages = chunks;
        layout.schedule = chunks > 1 ? PipelineSchedule::interleaved : PipelineSchedule::one_f_one_b;
        add_memory_choices(layout);
      }
    }
  }

  void add_memory_choices(ParallelLayout layout) {
    for (layout.shard = 0; layout.shard <= 3; ++layout.shard) {
      if (!may_shard(layout)) continue;
      layout.gradient_bytes = gradient_bytes(layout.shard);
      for (const int ep : expert_groups(layout.mesh))
        for (const auto recompute : recomputations()) {
          layout.expert_parallel = ep;
          layout.recompute = recompute;
          layouts_.push_back(layout);
        }
    }
  }

  // Replicas alone have something to share out. Gathering or scattering for each micro-batch undoes what a pipeline
  // saves: with one that is for who asks for it.
  bool may_shard(const ParallelLayout& layout) const {
    if (question_.shard && *question_.shard != layout.shard) return false;
    if (layout.shard == 0 || (layout.mesh.dp > 1 && question_.shard)) return true;
    return layout.mesh.dp > 1 && (layout.shard == 1 || layout.mesh.pp == 1);
  }

  // Added up and joined in 32 bits, as Megatron-LM does; where parameters are sharded too, as wide as they, as FSDP
  // does by default (docs/parallel.md).
  int gradient_bytes(int shard) const { return shard == 3 ? number_bytes(question_.precision) : 4; }

  std::vector<Recompute> recomputations() const {
    if (question_.recompute) return {*question_.recompute};
    return {Recompute::none, Recompute::selective, Recompute::full};
  }

  // As many neighbours of a stage as experts can be spread over evenly.
  std::vector<int> expert_groups(const Mesh& mesh) const {
    if (!question_.shape.moe()) return {1};
    const int ranks = mesh.dp * mesh.tp;
    auto sizes = only(question_.expert_parallel, divisors(question_.shape.experts, ranks));
    std::erase_if(sizes, [&](int size) { return ranks % size != 0; });
    return sizes;
  }

  const PlanQuestion& question_;
  int gpus_, batch_;
  std::vector<ParallelLayout> layouts_;
};

void check_precision(const PlanQuestion& question, const Machine& machine) {
  const auto& gpu = machine.gpu;
  if (machine.gpus.empty() || gpu.bf16_flops + gpu.fp16_flops + gpu.fp32_flops <= 0)
    throw ConfigError(
        fmt::format("{}: nothing is known of its GPUs; see `gradwire list gpus`", machine.name));
  if (has_products(gpu, question.precision)) return;
  std::vector<Precision> has = {Precision::fp32, Precision::tf32, Precision::fp16,
                                Precision::bf16, Precision::fp8,  Precision::nvfp4};
  std::erase_if(has, [&](Precision one) { return !has_products(gpu, one); });
  refuse_precision(question.precision, machine, has);
}

void check_memory(const PlanQuestion& question, const Machine& machine) {
  if (question.memory && *question.memory > double(machine.gpu.memory_bytes))
    throw ConfigError(fmt::format("--memory {:g}: {} of {} has {:g} GiB", *question.memory / kGib,
                                  machine.gpu.name, machine.name, double(machine.gpu.memory_bytes) / kGib));
}

void check_experts(const PlanQuestion& question) {
  const int ep = question.expert_parallel.value_or(1);
  const auto& shape = question.shape;
  if (ep > 1 && !shape.moe())
    throw ConfigError(fmt::format("--ep {}: {} has no experts to spread, leave it out", ep, shape.name));
  if (ep < 1 || (ep > 1 && shape.experts % ep != 0))
    throw ConfigError(
        fmt::format("--ep {}: {} has {} experts, write a divisor of that", ep, shape.name, shape.experts));
}

void check_sizes_of(const PlanQuestion& question, const Machine& machine) {
  const int gpus = static_cast<int>(machine.gpus.size());
  for (const auto& [name, size] : {std::pair{"--dp", question.dp},
                                   {"--tp", question.tp},
                                   {"--pp", question.pp},
                                   {"--ep", question.expert_parallel}})
    if (size && (*size < 1 || gpus % *size != 0))
      throw ConfigError(fmt::format("{} {}: {} has {}, write a divisor of that", name, *size, machine.name,
                                    counted_gpus(gpus)));
  if (question.tp && question.shape.heads % *question.tp != 0)
    throw ConfigError(fmt::format("--tp {}: {} has {} heads, write a divisor of that", *question.tp,
                                  question.shape.name, question.shape.heads));
}

// "--dp 2 --tp 2 --pp 4 are 16 GPUs, ..." where the sizes of the mesh can't all be; empty where they can.
std::string misfit_of_mesh(const PlanQuestion& question, int gpus) {
  std::string given;
  std::int64_t product = 1;
  for (const auto& [name, size] :
       {std::pair{"--dp", question.dp}, {"--tp", question.tp}, {"--pp", question.pp}})
    if (size) given += fmt::format("{}{} {}", given.empty() ? "" : " ", name, *size), product *= *size;
  const bool whole = question.dp && question.tp && question.pp;
  if (gpus % product == 0 && (!whole || product == gpus)) return {};
  return fmt::format("{} are {} GPUs, and there are {}: {}", given, product, gpus,
                     whole ? "leave one of them out, or write sizes that give that number"
                           : "write sizes that divide that number");
}

// A size that may be asked for, and what it needs: the reason where there are layouts without it alone.
struct Need {
  const char* flag;
  std::optional<int> PlanQuestion::*size;
  std::string reason;
};

std::vector<Need> needs_of(const PlanQuestion& question, int gpus) {
  const auto& shape = question.shape;
  const int batch = batch_of(question, gpus);
  return {{"--shard", &PlanQuestion::shard,
           fmt::format("what is sharded is what replicas hold alike, so write a dp of 2 or more{}",
                       gpus == 1 ? ", for which one GPU is too few" : "")},
          {"--ep", &PlanQuestion::expert_parallel,
           "experts are spread over the dp x tp GPUs of a stage, write a divisor of that"},
          {question.flags.virtual_stages, &PlanQuestion::virtual_stages,
           fmt::format("they take turns on the stages of a pipeline: --pp must be 2 or more, --pp x {} at "
                       "most the {} layers of {}, and the micro-batches of a step a multiple of --pp",
                       question.flags.virtual_stages, shape.layers, shape.name)},
          {question.flags.micro_batch, &PlanQuestion::micro_batch,
           fmt::format("a replica's share of the {} sequences of a step can't be divided into such", batch)},
          {"--pp", &PlanQuestion::pp,
           fmt::format("{} has {} layers, and every stage needs one", shape.name, shape.layers)},
          {"--dp", &PlanQuestion::dp,
           fmt::format("the {} sequences of a step can't be divided among so many replicas", batch)}};
}

// Why no layout is left, of sizes each of which could be: the one without which there would be some.
std::string what_is_in_the_way(const PlanQuestion& question, int gpus) {
  if (auto reason = misfit_of_mesh(question, gpus); !reason.empty()) return reason;
  for (const auto& [flag, size, reason] : needs_of(question, gpus)) {
    auto plain = question;
    (plain.*size).reset();
    if (question.*size && !candidate_layouts(plain, gpus).empty())
      return fmt::format("{} {}: {}", flag, *(question.*size), reason);
  }
  return fmt::format(
      "{} can't be split that way over {}: sizes must divide GPUs, heads, layers and the batch "
      "of {} sequences",
      question.shape.name, counted_gpus(gpus), batch_of(question, gpus));
}

}  // namespace

Precision usual_precision(const std::vector<Machine>& machines) {
  constexpr std::array kNarrowFirst = {Precision::bf16, Precision::fp16, Precision::fp32};
  auto widest = kNarrowFirst.begin();
  for (const Machine& machine : machines)
    widest = std::max(widest, std::ranges::find(kNarrowFirst, usual_precision(machine.gpu)));
  return *widest;
}

int sequences_of(int replicas, int micro_batches, int micro_batch) {
  std::int64_t all = 1;
  for (const int factor : {replicas, micro_batches, micro_batch}) {
    all *= factor;
    if (all > kMostSequences)
      throw ConfigError(
          fmt::format("--batch {}: {} times that on each of {} replicas are more than {} sequences a step",
                      micro_batch, micro_batches, replicas, kMostSequences));
  }
  return static_cast<int>(all);
}

int batch_of(const PlanQuestion& question, int gpus) {
  return question.batch > 0 ? question.batch : kUsualShare * gpus;
}

double memory_limit(const PlanQuestion& question, const Gpu& gpu) {
  return question.memory.value_or(usable_memory(gpu));
}

std::vector<ParallelLayout> candidate_layouts(const PlanQuestion& question, int gpus) {
  return Enumerator(question, gpus).all();
}

std::vector<ParallelLayout> layouts_on(const PlanQuestion& question, const Machine& machine) {
  check_sizes(question.shape);
  check_precision(question, machine);
  check_memory(question, machine);
  check_experts(question);
  check_sizes_of(question, machine);
  const int gpus = static_cast<int>(machine.gpus.size());
  auto layouts = candidate_layouts(question, gpus);
  if (layouts.empty()) throw ConfigError(what_is_in_the_way(question, gpus));
  return layouts;
}

}  // namespace gradwire
