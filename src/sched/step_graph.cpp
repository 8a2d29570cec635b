#include "sched/step_graph.h"

#include <fmt/format.h>

#include "base/error.h"
#include "sched/rank_tasks.h"

namespace gradwire {
namespace {

void check_plan(const StepPlan& plan, const std::vector<ChunkCut>& cut,
                const std::vector<StepPiece>& pieces) {
  check_mesh(plan.mesh);
  if (plan.mesh.cp > 1) throw ConfigError("a step graph of context parallelism: it is priced, not executed");
  if (plan.shard < 0 || plan.shard > 3)
    throw ConfigError(fmt::format(
        "shard {}: write 0 (nothing), 1 (optimizer state), 2 (gradients too) or 3 (parameters too)",
        plan.shard));
  const auto chunks = static_cast<std::size_t>(plan.mesh.pp * plan.virtual_stages);
  if (cut.size() != chunks)
    throw ConfigError(fmt::format("a model cut into {} chunks for {} stages of {}", cut.size(), plan.mesh.pp,
                                  plan.virtual_stages));
  for (std::size_t i = 0; i < cut.size(); ++i)
    if (cut[i].units.empty()) throw ConfigError(fmt::format("chunk {} of the model has no unit", i));
  check(pieces.empty() || chunks == 1, "pieces are given of one stage");
}

}  // namespace

std::string_view name_of(TaskKind kind) {
  constexpr std::string_view kNames[] = {"forward", "backward", "update", "collective", "send", "recv"};
  return kNames[static_cast<int>(kind)];
}

std::string_view name_of(TaskData data) {
  constexpr std::string_view kNames[] = {"nothing", "activation", "gradient", "parameters"};
  return kNames[static_cast<int>(data)];
}

std::string describe(const Task& task) {
  std::string text(task.kind == TaskKind::collective ? name_of(task.collective) : name_of(task.kind));
  if (task.data != TaskData::none) text += fmt::format(" of the {}", name_of(task.data));
  text += fmt::format(" of chunk {}", task.chunk);
  if (task.unit >= 0) text += fmt::format(", unit {}", task.unit);
  if (task.micro_batch >= 0) text += fmt::format(", micro-batch {}", task.micro_batch);
  return text;
}

StepGraph make_step_graph(const StepPlan& plan, const std::vector<ChunkCut>& cut,
                          const std::vector<StepPiece>& pieces) {
  check_plan(plan, cut, pieces);
  StepGraph graph;
  graph.mesh = plan.mesh;
  graph.pipeline = pipeline_of(plan);
  check_pipeline(graph.pipeline);
  GroupBook groups(graph);
  const PlannedModel model{plan, cut};
  for (Rank rank = 0; rank < plan.mesh.ranks(); ++rank) {
    const int stage = place_of(plan.mesh, rank).pipeline;
    graph.ranks.push_back(
        rank_tasks(model, rank, pieces.empty() ? pieces_of_stage(model, stage) : pieces, groups));
  }
  return graph;
}

}  // namespace gradwire
