#include "sched/step_run.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"

namespace gradwire {
namespace {

struct TaskId {
  Rank rank = 0;
  int index = 0;
};

// One task of one rank, or those of several that are made together.
struct StepNode {
  std::vector<TaskId> tasks;
  std::vector<int> next;
  int waits = 0;
};

bool computes(const Task& task) {
  return task.kind == TaskKind::forward || task.kind == TaskKind::backward || task.kind == TaskKind::update;
}

// The number of a rank's lane: -1 computes, -2 is that of all collectives, groups have their own.
int lane_of(const Task& task, StepLanes lanes) {
  if (computes(task)) return -1;
  return lanes == StepLanes::one_for_collectives && task.kind == TaskKind::collective ? -2 : task.group;
}

// A node that goes on, at a pace that changes with what else its ranks do.
struct GoingOn {
  int node = 0;
  Seconds begin = 0, since = 0;  // since: when `left` was left
  Seconds left = 0;
  double pace = 1;
  Seconds end() const { return left <= 0 ? since : since + left / pace; }
};

class StepWalk {
 public:
  StepWalk(const StepGraph& graph, StepLanes lanes) : graph_(graph) {
    for (Rank rank = 0; rank < world(); ++rank) add_rank(rank);
    for (Rank rank = 0; rank < world(); ++rank) connect(rank, lanes);
    for (const auto& node : nodes_) check_node(node);
  }

  StepRun run(const TaskDuration& duration, const TaskShare& share) {
    StepRun result;
    for (const auto& tasks : graph_.ranks) result.ranks.emplace_back(tasks.size());
    loads_.assign(graph_.ranks.size(), 0);
    for (std::size_t i = 0; i < nodes_.size(); ++i)
      if (nodes_[i].waits == 0) begin(static_cast<int>(i), 0, duration, share);
    std::size_t done = 0;
    for (; !going_on_.empty(); ++done) {
      const auto first = std::min_element(going_on_.begin(), going_on_.end(),
                                          [](const auto& a, const auto& b) { return a.end() < b.end(); });
      const GoingOn ended = *first;
      *first = going_on_.back();
      going_on_.pop_back();
      note(ended, result);
      load(ended.node, ended.end(), -1, share);
      for (const int next : node(ended.node).next)
        if (--node(next).waits == 0) begin(next, ended.end(), duration, share);
    }
    if (done != nodes_.size()) fail_stuck();
    return result;
  }

 private:
  int world() const { return static_cast<int>(graph_.ranks.size()); }
  const std::vector<Task>& tasks_of(Rank rank) const { return graph_.ranks[static_cast<std::size_t>(rank)]; }
  const Task& task(const TaskId& id) const { return tasks_of(id.rank)[static_cast<std::size_t>(id.index)]; }
  int& node_of(Rank rank, int index) {
    return node_of_[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
  }

  [[noreturn]] void fail(std::string_view fault, const TaskId& id, const std::string& why) const {
    throw Error(fmt::format("{}: rank {}'s {}: {}", fault, id.rank, describe(task(id)), why));
  }

  void check_task(const TaskId& id) const {
    const auto& it = task(id);
    for (const int before : it.after)
      if (before < 0 || before >= id.index)
        fail("malformed", id, fmt::format("it waits for task {}", before));
    if (!computes(it) && it.group < 0) fail("malformed", id, "it has no group");
    if (it.group < 0) return;
    if (it.group >= static_cast<int>(graph_.groups.size())) fail("malformed", id, "its group does not exist");
    const auto& members = graph_.groups[static_cast<std::size_t>(it.group)];
    if (std::find(members.begin(), members.end(), id.rank) == members.end())
      fail("malformed", id, fmt::format("it is of group {}, which the rank is not in", it.group));
  }

  // The n-th task of a kind on a group is one node for all its ranks.
  void add_rank(Rank rank) {
    node_of_.emplace_back(tasks_of(rank).size());
    std::map<std::pair<int, bool>, int> count;
    for (int i = 0; i < static_cast<int>(tasks_of(rank).size()); ++i) {
      const TaskId id{rank, i};
      check_task(id);
      const auto& it = task(id);
      int node = static_cast<int>(nodes_.size());
      if (it.group >= 0) {
        const std::pair<int, bool> kind{it.group, computes(it)};
        node = meetings_.try_emplace({kind, count[kind]++}, node).first->second;
      }
      if (node == static_cast<int>(nodes_.size())) nodes_.emplace_back();
      nodes_[static_cast<std::size_t>(node)].tasks.push_back(id);
      node_of(rank, i) = node;
    }
  }

  void edge(int from, int to) {
    nodes_[static_cast<std::size_t>(from)].next.push_back(to);
    ++nodes_[static_cast<std::size_t>(to)].waits;
  }

  void connect(Rank rank, StepLanes lanes) {
    std::map<int, int> last;  // by lane
    for (int i = 0; i < static_cast<int>(tasks_of(rank).size()); ++i) {
      const auto& it = task({rank, i});
      for (const int before : it.after) edge(node_of(rank, before), node_of(rank, i));
      const int lane = lane_of(it, lanes);
      if (const auto found = last.find(lane); found != last.end())
        edge(node_of(rank, found->second), node_of(rank, i));
      last[lane] = i;
    }
  }

  void check_node(const StepNode& node) const {
    const auto& first = task(node.tasks.front());
    if (first.group < 0) return;
    const auto& members = graph_.groups[static_cast<std::size_t>(first.group)];
    if (node.tasks.size() != members.size()) fail_absent(node, members);
    int sends = 0;
    for (const auto& id : node.tasks) {
      const auto& it = task(id);
      sends += it.kind == TaskKind::send;
      auto like = first;
      like.after = it.after;
      if (it.peer >= 0) like.peer = it.peer, like.kind = it.kind;
      if (like != it)
        fail("mismatch", id, fmt::format("rank {} is in {}", node.tasks.front().rank, describe(first)));
    }
    if (first.peer >= 0 && sends != 1)
      fail("mismatch", node.tasks.front(), fmt::format("{} of its two ranks send", sends));
  }

  [[noreturn]] void fail_absent(const StepNode& node, const std::vector<Rank>& members) const {
    for (const Rank member : members) {
      const auto is = [&](const TaskId& id) { return id.rank == member; };
      if (std::none_of(node.tasks.begin(), node.tasks.end(), is))
        fail("stuck", node.tasks.front(), fmt::format("rank {} never joins", member));
    }
    fail("malformed", node.tasks.front(), "a rank is in its group twice");
  }

  StepNode& node(int index) { return nodes_[static_cast<std::size_t>(index)]; }

  void begin(int index, Seconds now, const TaskDuration& duration, const TaskShare& share) {
    Seconds longest = 0;
    for (const auto& id : node(index).tasks) longest = std::max(longest, duration(id.rank, task(id)));
    load(index, now, 1, share);
    going_on_.push_back({index, now, now, longest, pace_of(node(index))});
  }

  // Communication comes or goes: the others on its ranks' processors go on at another pace.
  void load(int index, Seconds now, int sign, const TaskShare& share) {
    if (!share || computes(task(node(index).tasks.front()))) return;
    for (const auto& id : node(index).tasks)
      loads_[static_cast<std::size_t>(id.rank)] += sign * share(id.rank, task(id));
    for (auto& other : going_on_) {
      const double pace = pace_of(node(other.node));
      if (pace == other.pace) continue;
      other.left -= (now - other.since) * other.pace;
      other.since = now;
      other.pace = pace;
    }
  }

  double pace_of(const StepNode& node) const {
    double most = 0;
    for (const auto& id : node.tasks) most = std::max(most, loads_[static_cast<std::size_t>(id.rank)]);
    if (!computes(task(node.tasks.front()))) return 1 / std::max(1.0, most);
    return std::max(0.0, 1 - most);
  }

  void note(const GoingOn& ended, StepRun& result) {
    for (const auto& id : node(ended.node).tasks)
      result.ranks[static_cast<std::size_t>(id.rank)][static_cast<std::size_t>(id.index)] = {ended.begin,
                                                                                             ended.end()};
    result.end = std::max(result.end, ended.end());
  }

  [[noreturn]] void fail_stuck() const {
    for (const auto& node : nodes_)
      if (node.waits > 0) fail("stuck", node.tasks.front(), "its ranks wait for each other in a circle");
    throw Error("stuck: no task can begin");
  }

  const StepGraph& graph_;
  std::vector<StepNode> nodes_;
  std::vector<std::vector<int>> node_of_;  // by rank and task
  std::map<std::pair<std::pair<int, bool>, int>, int> meetings_;
  std::vector<GoingOn> going_on_;
  std::vector<double> loads_;  // by rank: what communication asks of its processor
};

}  // namespace

StepRun run_step(const StepGraph& graph, const TaskDuration& duration, StepLanes lanes,
                 const TaskShare& share) {
  return StepWalk(graph, lanes).run(duration, share);
}

}  // namespace gradwire
