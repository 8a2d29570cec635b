#include "train/job/mesh_options.h"

#include <fmt/format.h>

#include <algorithm>
#include <set>

#include "base/error.h"
#include "train/pipeline/bubble.h"

namespace gradwire {
namespace {

// The most stages a model can be cut into: transformers keep a layer on each.
int most_stages(const TrainableModel& model) {
  switch (model.kind) {
    case ModelKind::mlp:
      return 3;
    case ModelKind::convnet:
      return 4;
    case ModelKind::resnet:
      return 6;
    case ModelKind::gpt:
    case ModelKind::bert:
      return model.shape.layers;
  }
  throw Error("bug in gradwire: a model of no kind");
}

void need(bool right, const std::string& what) {
  if (!right) throw ConfigError(what);
}

void check_tensor(const TrainOptions& options, const TrainableModel& model) {
  if (options.tp == 1) return;
  need(
      takes_text(model),
      fmt::format("--tp {}: {} is no transformer; tensor parallelism cuts gpt and bert models by their heads",
                  options.tp, model.name));
  need(model.shape.heads % options.tp == 0,
       fmt::format("--tp {}: the {} heads of {} can't be divided among so many ranks", options.tp,
                   model.shape.heads, model.name));
  need(!options.sequence_parallel || options.sequence % options.tp == 0,
       fmt::format("--sequence-parallel: {} tokens can't be divided among the {} ranks of --tp",
                   options.sequence, options.tp));
}

void check_unpiped(const TrainOptions& options) {
  need(options.micro_batches == 0, "--micro-batches fill a pipeline: write --accumulate, or --pp 2 or more");
  need(options.schedule == PipelineSchedule::one_f_one_b, "--schedule is a pipeline's: write --pp 2 or more");
  need(options.virtual_stages <= 1, "--virtual-stages are a pipeline's: write --pp 2 or more");
}

void check_stages(const TrainOptions& options, const TrainableModel& model) {
  if (options.pp == 1) return;
  need(options.pp * options.virtual_stages <= most_stages(model),
       fmt::format(
           "--pp {}{}: {} has {} layers, and every stage needs one", options.pp,
           options.virtual_stages > 1 ? fmt::format(" with --virtual-stages {}", options.virtual_stages) : "",
           model.name, most_stages(model)));
  need(!options.sync_batch_norm,
       "--sync-batch-norm with --pp: batch norms of a pipeline see their micro-batch");
}

void check_company(const TrainOptions& options) {
  need(options.compress != Compression::powersgd || options.virtual_stages == 1,
       "--compress powersgd with --virtual-stages: it keeps its state by bucket, and each chunk has its own");
}

}  // namespace

bool rehearses(const TrainOptions& options) {
  return options.backend.is_none() && (ranks_a_model(options) > 1 || options.shard > 0);
}

bool uses_mesh(const TrainOptions& options) { return ranks_a_model(options) > 1 || options.recompute; }

bool is_split(const TrainOptions& options) { return uses_mesh(options) || options.shard > 0; }

int ranks_a_model(const TrainOptions& options) { return options.tp * options.pp; }

TrainOptions complete_counts(TrainOptions options) {
  need(options.dp >= 0 && options.tp >= 1 && options.pp >= 1, "--dp, --tp and --pp are 1 or more");
  check_mesh({.dp = options.dp == 0 ? 1 : options.dp, .tp = options.tp, .pp = options.pp});
  need(options.tp > 1 || !options.sequence_parallel,
       "--sequence-parallel splits what lies between tensor-parallel layers: it needs --tp 2 or more");
  need(options.micro_batches >= 0 && options.virtual_stages >= 0,
       "--micro-batches and --virtual-stages are 1 or more");
  if (options.virtual_stages == 0)
    options.virtual_stages = options.schedule == PipelineSchedule::interleaved ? 2 : 1;
  if (options.pp == 1) {
    check_unpiped(options);
    return options;
  }
  if (options.micro_batches == 0) options.micro_batches = 2 * options.pp;
  need(options.accumulate == 1 || options.accumulate == options.micro_batches,
       "--accumulate with --pp: a pipeline's micro-batches are accumulated; write --micro-batches");
  check_pipeline(pipeline_of(options));
  options.accumulate = options.micro_batches;
  return options;
}

TrainOptions complete_mesh(TrainOptions options, const TrainableModel& model) {
  options = complete_counts(std::move(options));
  check_tensor(options, model);
  check_stages(options, model);
  if (uses_mesh(options)) check_company(options);
  return options;
}

Mesh mesh_of(const TrainOptions& options, int ranks) {
  const int model = ranks_a_model(options);
  const std::string asked = fmt::format("--tp {} --pp {}", options.tp, options.pp);
  need(ranks % model == 0, fmt::format("{}: {} ranks can't be divided into models of {}; write -n {}", asked,
                                       ranks, model, model * std::max(1, options.dp)));
  const int dp = ranks / model;
  need(options.dp == 0 || options.dp == dp,
       fmt::format("--dp {} {} are {} ranks, and there are {}: write -n {}, or --dp {}", options.dp, asked,
                   options.dp * model, ranks, options.dp * model, dp));
  return {.dp = dp, .tp = options.tp, .pp = options.pp};
}

void check_replicas(const TrainOptions& options, const Mesh& mesh) {
  const int model = ranks_a_model(options);
  need(options.shard == 0 || mesh.dp > 1 || model == 1,
       fmt::format(
           "--shard {}: what is sharded is what replicas hold alike, and {} ranks with --tp {} --pp {} "
           "are one; write -n {}",
           options.shard, model, mesh.tp, mesh.pp, 2 * model));
}

PipelineShape pipeline_of(const TrainOptions& options) {
  return {options.schedule, options.pp, options.pp > 1 ? options.micro_batches : options.accumulate,
          options.virtual_stages};
}

PipelineResult measure_pipeline(const Timeline& timeline, const TrainOptions& options,
                                const PipelineStep& recorded) {
  const PipelineShape shape = pipeline_of(options);
  PipelineResult result{.bubble_by_formula = bubble_share(shape)};
  if (recorded.complete)
    result.bubble =
        idle_share(shape, executed_order(timeline, mesh_of(options, timeline.ranks), recorded.step));
  std::set<int> steps;
  for (const Span& span : timeline.spans) {
    steps.insert(span.step);
    if (span.kind == SpanKind::wait && span.part.is_told()) result.waiting += span.end - span.begin;
  }
  if (!steps.empty()) result.waiting /= timeline.ranks * static_cast<double>(steps.size());
  return result;
}

}  // namespace gradwire
