#include "sched/pipeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"

namespace gradwire {
namespace {

// The k-th piece of work of a stage in one direction. Micro-batches go through the stage's first chunk in
// groups of as many as there are stages, then through its second, and so on; backward begins with its last.
StageWork piece(const PipelineShape& shape, int stage, bool forward, int k) {
  const int round = shape.stages * shape.virtual_stages;
  const int local = k % round / shape.stages;
  const int turn = forward ? local : shape.virtual_stages - 1 - local;
  return {forward, turn * shape.stages + stage, k / round * shape.stages + k % shape.stages};
}

bool runs_here(PipelineSchedule schedule) {
  return schedule != PipelineSchedule::zb1p && schedule != PipelineSchedule::zb2p;
}

[[noreturn]] void refuse_schedule(std::string_view text) {
  throw ConfigError(fmt::format("'{:.40}' is no pipeline schedule: write gpipe, 1f1b or interleaved", text));
}

// Forwards a stage makes before its first backward.
int warm_up(const PipelineShape& shape, int stage) {
  const int total = shape.micro_batches * shape.virtual_stages;
  if (shape.schedule == PipelineSchedule::gpipe) return total;
  const int behind = shape.stages - 1 - stage;
  if (shape.virtual_stages == 1) return std::min(total, behind);
  return std::min(total, 2 * behind + (shape.virtual_stages - 1) * shape.stages);
}

}  // namespace

PipelineSchedule parse_pipeline_schedule(std::string_view text) {
  const auto found = find_enumerator<PipelineSchedule>(text);
  if (!found || !runs_here(*found)) refuse_schedule(text);
  return *found;
}

void check_pipeline(const PipelineShape& shape) {
  if (!runs_here(shape.schedule)) refuse_schedule(name_of(shape.schedule));
  if (shape.stages < 1 || shape.micro_batches < 1 || shape.virtual_stages < 1)
    throw ConfigError(
        fmt::format("a pipeline of {} stages with {} chunks each and {} micro-batches: write 1 or more",
                    shape.stages, shape.virtual_stages, shape.micro_batches));
  const bool interleaved = shape.schedule == PipelineSchedule::interleaved;
  if (shape.virtual_stages > 1 && !interleaved)
    throw ConfigError(fmt::format("{} chunks a stage need the schedule interleaved, not {}",
                                  shape.virtual_stages, name_of(shape.schedule)));
  if (interleaved && shape.micro_batches % shape.stages != 0)
    throw ConfigError(
        fmt::format("interleaved takes micro-batches in groups of its {} stages, and {} are no multiple",
                    shape.stages, shape.micro_batches));
}

std::vector<StageWork> stage_order(const PipelineShape& shape, int stage) {
  check_pipeline(shape);
  check(stage >= 0 && stage < shape.stages, "a stage that the pipeline does not have");
  const int total = shape.micro_batches * shape.virtual_stages, first = warm_up(shape, stage);
  // One chunk a stage needs no groups: a group of one micro-batch is the plain order.
  std::vector<StageWork> order;
  order.reserve(static_cast<std::size_t>(2 * total));
  const auto add = [&](bool forward, int k) {
    order.push_back(shape.virtual_stages == 1 ? StageWork{forward, stage, k}
                                              : piece(shape, stage, forward, k));
  };
  for (int k = 0; k < first; ++k) add(true, k);
  for (int k = first; k < total; ++k) {
    add(true, k);
    add(false, k - first);
  }
  for (int k = total - first; k < total; ++k) add(false, k);
  return order;
}

double bubble_share(const PipelineShape& shape) {
  check_pipeline(shape);
  return (shape.stages - 1.0) / (shape.virtual_stages * shape.micro_batches + shape.stages - 1.0);
}

}  // namespace gradwire
