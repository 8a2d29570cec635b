// The tasks of one rank of a step graph, written piece by piece: what it computes, what comes in before and goes out after
// each, and what of a unit is gathered, held and joined. For make_step_graph() alone.
#pragma once

#include <map>
#include <tuple>
#include <vector>

#include "sched/step_graph.h"

namespace gradwire {

// The groups of a graph, each made when somebody first needs it.
class GroupBook {
 public:
  explicit GroupBook(StepGraph& graph) : graph_(graph) {}
  int of(MeshDimension dimension, Rank rank);
  int pair(TaskData data, Rank from, Rank to);

 private:
  using Key = std::tuple<int, Rank, Rank>;

  int add(const Key& key, const std::vector<Rank>& members);

  StepGraph& graph_;
  std::map<Key, int> index_;
};

PipelineShape pipeline_of(const StepPlan&);

// A plan and the model that goes by it. Borrowed.
struct PlannedModel {
  const StepPlan& plan;
  const std::vector<ChunkCut>& cut;
};

// What a stage computes as its schedule says.
std::vector<StepPiece> pieces_of_stage(const PlannedModel&, int stage);

// At least one piece. Groups that the tasks need are added to the book's graph.
std::vector<Task> rank_tasks(const PlannedModel&, Rank, const std::vector<StepPiece>& pieces, GroupBook&);

}  // namespace gradwire
