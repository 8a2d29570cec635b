#include "sched/step_graph.h"

#include <fmt/format.h>

#include <map>
#include <tuple>

#include "base/error.h"

namespace gradwire {
namespace {

// The groups of a graph, each made when somebody first needs it.
class GroupBook {
 public:
  explicit GroupBook(StepGraph& graph) : graph_(graph) {}

  int of(MeshDimension dimension, Rank rank) {
    auto members = group_of(graph_.mesh, dimension, rank);
    return add({static_cast<int>(dimension), members.front(), 0}, members);
  }
  int pair(TaskData data, Rank from, Rank to) {
    return add({kPairs + static_cast<int>(data), from, to}, {from, to});
  }

 private:
  static constexpr int kPairs = 100;  // keys of pairs lie behind those of dimensions
  using Key = std::tuple<int, Rank, Rank>;

  int add(const Key& key, const std::vector<Rank>& members) {
    const auto [found, added] = index_.try_emplace(key, static_cast<int>(graph_.groups.size()));
    if (added) graph_.groups.push_back(members);
    return found->second;
  }

  StepGraph& graph_;
  std::map<Key, int> index_;
};

// Writes the tasks of one rank.
class RankWriter {
 public:
  RankWriter(const StepPlan& plan, const std::vector<ChunkCut>& cut, StepGraph& graph, GroupBook& groups)
      : plan_(plan), cut_(cut), graph_(graph), groups_(groups) {}

  void write(Rank rank) {
    rank_ = rank;
    place_ = place_of(plan_.mesh, rank);
    tasks_.clear();
    forward_end_.clear();
    gradients_.clear();
    const auto pieces = split(stage_order(graph_.pipeline, place_.pipeline));
    std::vector<int> ends;
    auto ready = before(pieces.front(), {});
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      // What the next piece needs is on its way while this one computes, and not earlier: two sets of buffers.
      std::vector<int> next;
      if (i + 1 < pieces.size())
        next = before(pieces[i + 1], i > 0 ? std::vector{ends[i - 1]} : std::vector<int>{});
      ends.push_back(compute(pieces[i], ready));
      after(pieces[i], ends.back());
      ready = std::move(next);
    }
    for (int chunk = place_.pipeline; chunk < graph_.pipeline.chunks(); chunk += plan_.mesh.pp) update(chunk);
    graph_.ranks[static_cast<std::size_t>(rank)] = std::move(tasks_);
  }

 private:
  struct Piece {
    StageWork work;
    int unit = -1;
    bool first = true, last = true;  // of its work
  };

  std::vector<Piece> split(const std::vector<StageWork>& order) const {
    std::vector<Piece> pieces;
    for (const auto& work : order) {
      const int count = plan_.by_unit ? units(work.chunk) : 1;
      for (int i = 0; i < count; ++i)
        pieces.push_back({work,
                          !plan_.by_unit ? -1
                          : work.forward ? i
                                         : count - 1 - i,
                          i == 0, i == count - 1});
    }
    return pieces;
  }

  int units(int chunk) const { return static_cast<int>(cut_[static_cast<std::size_t>(chunk)].units.size()); }
  bool replicated() const { return plan_.join_alone || plan_.mesh.dp * plan_.mesh.cp > 1; }
  int last_chunk() const { return graph_.pipeline.chunks() - 1; }

  int add(Task task) {
    tasks_.push_back(std::move(task));
    return static_cast<int>(tasks_.size()) - 1;
  }

  Rank stage_rank(int chunk) const {
    auto there = place_;
    there.pipeline = graph_.pipeline.stage_of(chunk);
    return rank_at(plan_.mesh, there);
  }

  // The units a piece is of, in the order it takes them.
  std::vector<int> units_of(const Piece& piece) const {
    if (piece.unit >= 0) return {piece.unit};
    std::vector<int> all;
    const int count = units(piece.work.chunk);
    for (int i = 0; i < count; ++i) all.push_back(piece.work.forward ? i : count - 1 - i);
    return all;
  }

  int join(const Piece& piece, int unit, Collective collective, std::vector<int> after) {
    const bool gather = collective == Collective::all_gather;
    return add(
        {.kind = TaskKind::collective,
         .data = gather ? TaskData::parameters : TaskData::gradient,
         .chunk = piece.work.chunk,
         .micro_batch = piece.work.micro_batch,
         .unit = unit,
         .group = groups_.of(MeshDimension::replica, rank_),
         .collective = collective,
         .bytes = cut_[static_cast<std::size_t>(piece.work.chunk)].units[static_cast<std::size_t>(unit)],
         .after = std::move(after)});
  }

  // `chunk` is the one whose output, or the gradient of whose output, travels.
  int message(const Piece& piece, bool sends, int chunk, std::vector<int> after) {
    const auto data = piece.work.forward ? TaskData::activation : TaskData::gradient;
    const bool down = piece.work.forward;  // activations go from the chunk to the next one, gradients back
    const Rank holder = stage_rank(chunk), user = stage_rank(chunk + 1);
    const Rank from = down ? holder : user, to = down ? user : holder;
    return add({.kind = sends ? TaskKind::send : TaskKind::recv,
                .data = data,
                .chunk = chunk,
                .micro_batch = piece.work.micro_batch,
                .group = groups_.pair(data, from, to),
                .peer = sends ? to : from,
                .bytes = cut_[static_cast<std::size_t>(chunk)].output,
                .after = std::move(after)});
  }

  // Starts what a piece needs, once buffers are free; gives what it has to wait for.
  std::vector<int> before(const Piece& piece, const std::vector<int>& free) {
    std::vector<int> needed;
    const auto& work = piece.work;
    const int source = work.forward ? work.chunk - 1 : work.chunk;  // whose output, or its gradient, comes in
    const bool comes = piece.first && source >= 0 && source < last_chunk() && plan_.mesh.pp > 1;
    if (comes) needed.push_back(message(piece, false, source, free));
    if (plan_.shard == 3 && replicated())
      for (const int unit : units_of(piece))
        needed.push_back(join(piece, unit, Collective::all_gather, free));
    return needed;
  }

  int compute(const Piece& piece, std::vector<int> after) {
    const auto& work = piece.work;
    const auto& cut = cut_[static_cast<std::size_t>(work.chunk)];
    if (const auto made = forward_end_.find({work.chunk, work.micro_batch}); !work.forward && piece.first)
      after.push_back(made->second);
    const bool meets = plan_.mesh.tp > 1 && cut.meetings > 0 && piece.last;
    const int repeats = !work.forward && plan_.recompute ? 2 : 1;
    const int done =
        add({.kind = work.forward ? TaskKind::forward : TaskKind::backward,
             .chunk = work.chunk,
             .micro_batch = work.micro_batch,
             .unit = piece.unit,
             .group = meets ? groups_.of(MeshDimension::tensor, rank_) : -1,
             .meetings = meets ? cut.meetings * repeats : 0,
             .collective = plan_.sequence_parallel ? Collective::all_gather : Collective::all_reduce,
             .bytes = meets ? cut.meeting_bytes : 0,
             .after = std::move(after)});
    if (work.forward) forward_end_[{work.chunk, work.micro_batch}] = done;
    return done;
  }

  void after(const Piece& piece, int done) {
    const auto& work = piece.work;
    const int source = work.forward ? work.chunk : work.chunk - 1;
    if (piece.last && source >= 0 && source < last_chunk() && plan_.mesh.pp > 1)
      message(piece, true, source, {done});
    if (work.forward) return;
    if (!replicated()) {
      gradients_[work.chunk] = {done};  // the compute lane keeps the others before it
      return;
    }
    const bool each = plan_.shard >= 2;
    if (!each && work.micro_batch != plan_.micro_batches - 1) return;
    auto joined = piece;
    if (!each) joined.work.micro_batch = -1;
    for (const int unit : units_of(piece))
      gradients_[work.chunk].push_back(
          join(joined, unit, plan_.shard == 0 ? Collective::all_reduce : Collective::reduce_scatter, {done}));
  }

  void update(int chunk) {
    const int done = add({.kind = TaskKind::update, .chunk = chunk, .after = gradients_[chunk]});
    if (!replicated() || plan_.shard == 0 || plan_.shard == 3) return;
    for (int unit = 0; unit < units(chunk); ++unit)
      join({.work = {true, chunk, -1}, .unit = unit}, unit, Collective::all_gather, {done});
  }

  const StepPlan& plan_;
  const std::vector<ChunkCut>& cut_;
  StepGraph& graph_;
  GroupBook& groups_;
  Rank rank_ = 0;
  MeshPlace place_;
  std::vector<Task> tasks_;
  std::map<std::pair<int, int>, int> forward_end_;  // by chunk and micro-batch
  std::map<int, std::vector<int>> gradients_;       // by chunk: what its update waits for
};

void check_plan(const StepPlan& plan, const std::vector<ChunkCut>& cut) {
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

StepGraph make_step_graph(const StepPlan& plan, const std::vector<ChunkCut>& cut) {
  check_plan(plan, cut);
  StepGraph graph;
  graph.mesh = plan.mesh;
  graph.pipeline = {plan.schedule, plan.mesh.pp, plan.micro_batches, plan.virtual_stages};
  check_pipeline(graph.pipeline);
  graph.ranks.resize(static_cast<std::size_t>(plan.mesh.ranks()));
  GroupBook groups(graph);
  RankWriter writer(plan, cut, graph, groups);
  for (Rank rank = 0; rank < plan.mesh.ranks(); ++rank) writer.write(rank);
  return graph;
}

}  // namespace gradwire
