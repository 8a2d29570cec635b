#include "sched/rank_tasks.h"

#include <utility>

#include "sched/unit_slots.h"

namespace gradwire {
namespace {

// Writes the tasks of one rank.
class RankWriter {
 public:
  RankWriter(const PlannedModel& model, GroupBook& groups, Rank rank)
      : plan_(model.plan),
        cut_(model.cut),
        pipeline_(pipeline_of(plan_)),
        groups_(groups),
        rank_(rank),
        place_(place_of(plan_.mesh, rank)) {}

  std::vector<Task> write(const std::vector<StepPiece>& pieces) {
    std::vector<int> ends;
    auto next = receive(pieces.front(), {});
    if (pieces.front().reads) append(next, gather(pieces.front(), {}, {}));
    for (std::size_t i = 0; i < pieces.size(); ++i) {
      // What the next piece needs is on its way while this one computes, and not earlier: two sets of buffers.
      const auto free = i > 0 ? std::vector{ends[i - 1]} : std::vector<int>{};
      auto ready = std::exchange(next, {});
      if (i + 1 < pieces.size()) next = receive(pieces[i + 1], free);
      const auto reader = next_reader(pieces, i + 1);
      if (reader < pieces.size()) {
        const auto gathered = gather(pieces[reader], in_use(pieces, i, pieces[reader].chunk), free);
        if (reader == i + 1) append(next, gathered);
      }
      ends.push_back(compute(pieces[i], std::move(ready)));
      after(pieces[i], ends.back());
    }
    for (int chunk = place_.pipeline; chunk < pipeline_.chunks(); chunk += plan_.mesh.pp) update(chunk);
    return std::move(tasks_);
  }

 private:
  // The units of a chunk that are whole on this rank, and where.
  struct Held {
    std::map<int, int> gathers = {};  // by unit: the task
    UnitSlots slots{2};
  };

  static void append(std::vector<int>& all, const std::vector<int>& more) {
    all.insert(all.end(), more.begin(), more.end());
  }

  static std::size_t next_reader(const std::vector<StepPiece>& pieces, std::size_t from) {
    while (from < pieces.size() && !pieces[from].reads) ++from;
    return from;
  }

  // The units of a chunk whose parameters the operators of a piece take.
  static std::vector<int> in_use(const std::vector<StepPiece>& pieces, std::size_t at, int chunk) {
    std::size_t first = at, last = at + 1;
    while (first > 0 && pieces[first].together) --first;
    while (last < pieces.size() && pieces[last].together) ++last;
    std::vector<int> units;
    for (std::size_t i = first; i < last; ++i)
      if (pieces[i].chunk == chunk && pieces[i].reads) units.push_back(pieces[i].unit);
    return units;
  }

  int units(int chunk) const { return static_cast<int>(cut_[static_cast<std::size_t>(chunk)].units.size()); }
  bool replicated() const { return plan_.join_alone || plan_.mesh.dp * plan_.mesh.cp > 1; }
  int last_chunk() const { return pipeline_.chunks() - 1; }

  int add(Task task) {
    tasks_.push_back(std::move(task));
    return static_cast<int>(tasks_.size()) - 1;
  }

  Rank stage_rank(int chunk) const {
    auto there = place_;
    there.pipeline = pipeline_.stage_of(chunk);
    return rank_at(plan_.mesh, there);
  }

  // The units a piece is of, in the order it takes them.
  std::vector<int> units_of(const StepPiece& piece) const {
    if (piece.unit >= 0) return {piece.unit};
    std::vector<int> all;
    const int count = units(piece.chunk);
    for (int i = 0; i < count; ++i) all.push_back(piece.forward ? i : count - 1 - i);
    return all;
  }

  Task join(const StepPiece& piece, int unit, Collective collective, std::vector<int> after) {
    const bool gather = collective == Collective::all_gather;
    return {.kind = TaskKind::collective,
            .data = gather ? TaskData::parameters : TaskData::gradient,
            .chunk = piece.chunk,
            .micro_batch = plan_.shard < (gather ? 3 : 2) ? -1 : piece.micro_batch,
            .unit = unit,
            .group = groups_.of(MeshDimension::replica, rank_),
            .collective = collective,
            .bytes = cut_[static_cast<std::size_t>(piece.chunk)].units[static_cast<std::size_t>(unit)],
            .after = std::move(after)};
  }

  // `chunk` is the one whose output, or the gradient of whose output, travels.
  int message(const StepPiece& piece, bool sends, int chunk, std::vector<int> after) {
    const auto data = piece.forward ? TaskData::activation : TaskData::gradient;
    const bool down = piece.forward;  // activations go from the chunk to the next one, gradients back
    const Rank holder = stage_rank(chunk), user = stage_rank(chunk + 1);
    const Rank from = down ? holder : user, to = down ? user : holder;
    return add({.kind = sends ? TaskKind::send : TaskKind::recv,
                .data = data,
                .chunk = chunk,
                .micro_batch = piece.micro_batch,
                .group = groups_.pair(data, from, to),
                .peer = sends ? to : from,
                .bytes = cut_[static_cast<std::size_t>(chunk)].output,
                .after = std::move(after)});
  }

  // Starts what comes in for a piece, once buffers are free; gives what it has to wait for.
  std::vector<int> receive(const StepPiece& piece, const std::vector<int>& free) {
    const int source = piece.forward ? piece.chunk - 1 : piece.chunk;  // whose output, or its gradient, comes
    const bool comes = piece.first && source >= 0 && source < last_chunk() && plan_.mesh.pp > 1;
    return comes ? std::vector{message(piece, false, source, free)} : std::vector<int>{};
  }

  // Has what is not held of a piece's units gathered, beside those in use; gives what the piece has to wait for.
  std::vector<int> gather(const StepPiece& piece, const std::vector<int>& used,
                          const std::vector<int>& free) {
    std::vector<int> needed;
    if (plan_.shard == 0 || !replicated()) return needed;
    auto& [gathers, slots] = held_[piece.chunk];
    for (const int unit : units_of(piece)) {
      if (const auto found = gathers.find(unit);
          found != gathers.end() && !(plan_.shard == 3 && piece.unit < 0)) {
        needed.push_back(found->second);
        continue;
      }
      Task task = join(piece, unit, Collective::all_gather, free);
      if (plan_.shard == 3 && piece.unit >= 0) {
        const auto place = slots.take(unit, used);
        task.slot = place.slot;
        gathers.erase(place.leaves);
      }
      needed.push_back(gathers[unit] = add(std::move(task)));
    }
    return needed;
  }

  int compute(const StepPiece& piece, std::vector<int> after) {
    const auto& cut = cut_[static_cast<std::size_t>(piece.chunk)];
    if (const auto made = forward_end_.find({piece.chunk, piece.micro_batch});
        !piece.forward && piece.first && made != forward_end_.end())
      after.push_back(made->second);
    const bool meets = plan_.mesh.tp > 1 && cut.meetings > 0 && piece.last;
    const int repeats = !piece.forward && plan_.recompute ? 2 : 1;
    const int done =
        add({.kind = piece.forward ? TaskKind::forward : TaskKind::backward,
             .chunk = piece.chunk,
             .micro_batch = piece.micro_batch,
             .unit = piece.unit,
             .group = meets ? groups_.of(MeshDimension::tensor, rank_) : -1,
             .meetings = meets ? cut.meetings * repeats : 0,
             .collective = plan_.sequence_parallel ? Collective::all_gather : Collective::all_reduce,
             .bytes = meets ? cut.meeting_bytes : 0,
             .reads = piece.reads,
             .learns = piece.learns,
             .after = std::move(after)});
    if (piece.forward) forward_end_[{piece.chunk, piece.micro_batch}] = done;
    if (plan_.shard == 3 && piece.reads && piece.unit >= 0) held_[piece.chunk].slots.touch(piece.unit);
    return done;
  }

  void after(const StepPiece& piece, int done) {
    const int source = piece.forward ? piece.chunk : piece.chunk - 1;
    if (piece.last && source >= 0 && source < last_chunk() && plan_.mesh.pp > 1)
      message(piece, true, source, {done});
    if (piece.forward) return;
    if (!replicated()) {
      gradients_[piece.chunk] = {done};  // the compute lane keeps the others before it
      return;
    }
    if (!piece.sends) return;
    const auto collective = plan_.shard == 0 ? Collective::all_reduce : Collective::reduce_scatter;
    for (const int unit : units_of(piece))
      gradients_[piece.chunk].push_back(add(join(piece, unit, collective, {done})));
  }

  void update(int chunk) { add({.kind = TaskKind::update, .chunk = chunk, .after = gradients_[chunk]}); }

  const StepPlan& plan_;
  const std::vector<ChunkCut>& cut_;
  const PipelineShape pipeline_;
  GroupBook& groups_;
  const Rank rank_;
  const MeshPlace place_;
  std::vector<Task> tasks_;
  std::map<std::pair<int, int>, int> forward_end_;  // by chunk and micro-batch
  std::map<int, std::vector<int>> gradients_;       // by chunk: what its update waits for
  std::map<int, Held> held_;                        // by chunk
};

}  // namespace

int GroupBook::of(MeshDimension dimension, Rank rank) {
  const auto members = group_of(graph_.mesh, dimension, rank);
  return add({static_cast<int>(dimension), members.front(), 0}, members);
}

int GroupBook::pair(TaskData data, Rank from, Rank to) {
  constexpr int kPairs = 100;  // keys of pairs lie behind those of dimensions
  return add({kPairs + static_cast<int>(data), from, to}, {from, to});
}

int GroupBook::add(const Key& key, const std::vector<Rank>& members) {
  const auto [found, added] = index_.try_emplace(key, static_cast<int>(graph_.groups.size()));
  if (added) graph_.groups.push_back(members);
  return found->second;
}

PipelineShape pipeline_of(const StepPlan& plan) {
  return {plan.schedule, plan.mesh.pp, plan.micro_batches, plan.virtual_stages};
}

std::vector<StepPiece> pieces_of_stage(const PlannedModel& model, int stage) {
  const auto& [plan, cut] = model;
  std::vector<StepPiece> pieces;
  for (const auto& work : stage_order(pipeline_of(plan), stage)) {
    const int count =
        plan.by_unit ? static_cast<int>(cut[static_cast<std::size_t>(work.chunk)].units.size()) : 1;
    for (int i = 0; i < count; ++i)
      pieces.push_back({.forward = work.forward,
                        .chunk = work.chunk,
                        .micro_batch = work.micro_batch,
                        .unit = !plan.by_unit  ? -1
                                : work.forward ? i
                                               : count - 1 - i,
                        .first = i == 0,
                        .last = i == count - 1,
                        .sends = plan.shard >= 2 || work.micro_batch == plan.micro_batches - 1});
  }
  return pieces;
}

std::vector<Task> rank_tasks(const PlannedModel& model, Rank rank, const std::vector<StepPiece>& pieces,
                             GroupBook& groups) {
  return RankWriter(model, groups, rank).write(pieces);
}

}  // namespace gradwire
