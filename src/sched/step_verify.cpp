#include "sched/step_verify.h"

#include <fmt/format.h>

#include <map>
#include <set>

#include "base/error.h"
#include "sched/step_run.h"

namespace gradwire {
namespace {

// Which tasks of a rank have surely ended when another begins: through `after` and the order of lanes.
class Ancestors {
 public:
  explicit Ancestors(const std::vector<Task>& tasks) : words_((tasks.size() + 63) / 64) {
    std::map<int, int> last;  // by lane; -1 computes
    for (int i = 0; i < static_cast<int>(tasks.size()); ++i) {
      bits_.emplace_back(words_);
      const auto& task = tasks[static_cast<std::size_t>(i)];
      for (const int before : task.after) include(i, before);
      const bool computes =
          task.kind == TaskKind::forward || task.kind == TaskKind::backward || task.kind == TaskKind::update;
      const int lane = computes ? -1 : task.group;
      if (const auto found = last.find(lane); found != last.end()) include(i, found->second);
      last[lane] = i;
    }
  }
  bool before(int earlier, int later) const {
    return bits_[static_cast<std::size_t>(later)][static_cast<std::size_t>(earlier) / 64] >> (earlier % 64) &
           1;
  }

 private:
  void include(int task, int before) {
    auto& mine = bits_[static_cast<std::size_t>(task)];
    const auto& theirs = bits_[static_cast<std::size_t>(before)];
    for (std::size_t i = 0; i < words_; ++i) mine[i] |= theirs[i];
    mine[static_cast<std::size_t>(before) / 64] |= std::uint64_t{1} << (before % 64);
  }

  std::size_t words_;
  std::vector<std::vector<std::uint64_t>> bits_;
};

class RankProof {
 public:
  RankProof(const StepGraph& graph, Rank rank)
      : graph_(graph), rank_(rank), tasks_(graph.ranks[static_cast<std::size_t>(rank)]), ancestors_(tasks_) {
    replicas_ = group_of(graph.mesh, MeshDimension::replica, rank);
    stage_ = place_of(graph.mesh, rank).pipeline;
    for (const auto& task : tasks_) {
      if (task.unit >= 0) units_[task.chunk].insert(task.unit);
      shared_ |= task.data == TaskData::parameters ||
                 (task.collective == Collective::reduce_scatter && task.data == TaskData::gradient);
    }
  }

  void prove() const {
    for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
      const auto kind = at(i).kind;
      if (kind == TaskKind::forward || kind == TaskKind::backward) prove_inputs(i);
      if (kind == TaskKind::send) prove_sent(i);
    }
    for (int chunk = stage_; chunk < graph_.pipeline.chunks(); chunk += graph_.pipeline.stages)
      prove_update(chunk);
  }

 private:
  const Task& at(int i) const { return tasks_[static_cast<std::size_t>(i)]; }

  [[noreturn]] void fail(std::string_view fault, const std::string& what) const {
    throw Error(fmt::format("{}: rank {}: {}", fault, rank_, what));
  }

  // Whether a task that `is` comes surely before task `later`; any at all where `later` is -1.
  template <typename Is>
  int find_before(int later, const Is& is) const {
    for (int i = 0; i < static_cast<int>(tasks_.size()); ++i)
      if (is(at(i)) && (later < 0 || ancestors_.before(i, later))) return i;
    return -1;
  }

  bool comes_in(int chunk, int micro_batch, TaskData data, int later) const {
    return find_before(later, [&](const Task& task) {
             return task.kind == TaskKind::recv && task.data == data && task.chunk == chunk &&
                    task.micro_batch == micro_batch;
           }) >= 0;
  }

  bool computed(TaskKind kind, int chunk, int micro_batch, int later) const {
    return find_before(later, [&](const Task& task) {
             return task.kind == kind && task.chunk == chunk && task.micro_batch == micro_batch;
           }) >= 0;
  }

  void prove_inputs(int i) const {
    const auto& task = at(i);
    const bool forward = task.kind == TaskKind::forward;
    if (!forward && !computed(TaskKind::forward, task.chunk, task.micro_batch, i))
      fail("missing activation", fmt::format("{} does not wait for its forward", describe(task)));
    const int source = forward ? task.chunk - 1 : task.chunk;
    const bool outer = source >= 0 && source < graph_.pipeline.chunks() - 1;
    if (outer && graph_.pipeline.stages > 1 &&
        !comes_in(source, task.micro_batch, forward ? TaskData::activation : TaskData::gradient, i))
      fail("missing activation", fmt::format("{} does not wait for what chunk {} sends", describe(task),
                                             forward ? source : source + 1));
    if (shared_ && task.reads) prove_gathered(i);
  }

  // A step begins with a share of each unit: what computes with the whole comes after a gather, and before whatever else is
  // gathered into the same buffer.
  void prove_gathered(int i) const {
    const auto& task = at(i);
    for (const int unit : task.unit >= 0 ? std::set<int>{task.unit} : units_.at(task.chunk)) {
      const int gather = last_gather(task.chunk, unit, i);
      if (gather < 0)
        fail("missing parameters",
             fmt::format("{} does not wait for unit {} to be gathered", describe(task), unit));
      for (int j = gather + 1; at(gather).slot >= 0 && j < static_cast<int>(tasks_.size()); ++j)
        if (at(j).data == TaskData::parameters && at(j).chunk == task.chunk &&
            at(j).slot == at(gather).slot && !ancestors_.before(i, j))
          fail("missing parameters",
               fmt::format("{} finds unit {} replaced by the {}", describe(task), unit, describe(at(j))));
    }
  }

  int last_gather(int chunk, int unit, int later) const {
    for (int i = later - 1; i >= 0; --i)
      if (at(i).data == TaskData::parameters && at(i).chunk == chunk && at(i).unit == unit &&
          ancestors_.before(i, later))
        return i;
    return -1;
  }

  void prove_sent(int i) const {
    const auto& task = at(i);
    const bool forward = task.data == TaskData::activation;
    const int made_by = forward ? task.chunk : task.chunk + 1;
    if (!all_before(forward ? TaskKind::forward : TaskKind::backward, made_by, task.micro_batch, i))
      fail("missing activation", fmt::format("{} does not wait for what it sends", describe(task)));
  }

  // Every unit's task of that kind, chunk and micro-batch comes surely before.
  bool all_before(TaskKind kind, int chunk, int micro_batch, int later) const {
    int found = 0;
    for (int i = 0; i < static_cast<int>(tasks_.size()); ++i) {
      const auto& task = at(i);
      if (task.kind != kind || task.chunk != chunk || task.micro_batch != micro_batch) continue;
      if (!ancestors_.before(i, later)) return false;
      ++found;
    }
    return found > 0;
  }

  void prove_update(int chunk) const {
    const int update = find_before(
        -1, [&](const Task& task) { return task.kind == TaskKind::update && task.chunk == chunk; });
    if (update < 0) fail("incomplete gradient", fmt::format("chunk {} is never updated", chunk));
    for (int micro_batch = 0; micro_batch < graph_.pipeline.micro_batches; ++micro_batch) {
      if (!all_before(TaskKind::backward, chunk, micro_batch, update))
        fail("incomplete gradient",
             fmt::format("the update of chunk {} does not wait for the backward of micro-batch {}", chunk,
                         micro_batch));
      if (replicas_.size() > 1) prove_joined(chunk, micro_batch, update);
    }
  }

  // The units that a backward of this micro-batch has learnt of.
  std::set<int> learnt(int chunk, int micro_batch) const {
    std::set<int> units;
    for (const auto& task : tasks_) {
      if (task.kind != TaskKind::backward || !task.learns || task.chunk != chunk ||
          task.micro_batch != micro_batch)
        continue;
      if (task.unit >= 0)
        units.insert(task.unit);
      else if (const auto all = units_.find(chunk); all != units_.end())
        units.insert(all->second.begin(), all->second.end());
    }
    return units;
  }

  // A unit's gradient of a micro-batch is joined over all that hold it, after it was made and before the update,
  // once.
  void prove_joined(int chunk, int micro_batch, int update) const {
    const auto units = learnt(chunk, micro_batch);
    if (units.empty()) fail("incomplete gradient", fmt::format("chunk {} is never joined", chunk));
    for (const int unit : units) {
      int times = 0;
      for (int i = 0; i < static_cast<int>(tasks_.size()); ++i)
        times += joins(i, chunk, unit, micro_batch) && ancestors_.before(i, update);
      if (times != 1)
        fail("incomplete gradient",
             fmt::format("the update of chunk {} waits for {} joins of unit {}, micro-batch {}", chunk, times,
                         unit, micro_batch));
    }
  }

  bool joins(int i, int chunk, int unit, int micro_batch) const {
    const auto& task = at(i);
    if (task.kind != TaskKind::collective || task.data != TaskData::gradient || task.chunk != chunk ||
        task.unit != unit)
      return false;
    if (task.micro_batch >= 0 && task.micro_batch != micro_batch) return false;
    if (graph_.groups[static_cast<std::size_t>(task.group)] != replicas_)
      fail("incomplete gradient",
           fmt::format("{} is not over all {} ranks that hold it", describe(task), replicas_.size()));
    const auto made = [&](int j) {
      const auto& other = at(j);
      return other.kind == TaskKind::backward && other.learns && other.chunk == chunk &&
             other.micro_batch == micro_batch && (other.unit < 0 || other.unit == unit);
    };
    for (int j = 0; j < static_cast<int>(tasks_.size()); ++j)
      if (made(j) && !ancestors_.before(j, i))
        fail("incomplete gradient",
             fmt::format("{} does not wait for the {}", describe(task), describe(at(j))));
    return true;
  }

  const StepGraph& graph_;
  Rank rank_;
  const std::vector<Task>& tasks_;
  Ancestors ancestors_;
  std::vector<Rank> replicas_;
  int stage_ = 0;
  std::map<int, std::set<int>> units_;  // by chunk
  bool shared_ = false;                 // ranks have shares of optimizer state, gradients or parameters
};

}  // namespace

void verify(const StepGraph& graph) {
  const auto at_once = [](Rank, const Task&) { return Seconds{0}; };
  run_step(graph, at_once, StepLanes::by_group);
  run_step(graph, at_once, StepLanes::one_for_collectives);
  check_mesh(graph.mesh, static_cast<int>(graph.ranks.size()));
  for (Rank rank = 0; rank < static_cast<int>(graph.ranks.size()); ++rank) RankProof(graph, rank).prove();
}

}  // namespace gradwire
