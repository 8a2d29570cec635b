// For tests: whether what ranks were seen to do is an execution of a step graph. Each task was done once, by all ranks of
// its group together, after what it waits for; lanes made their tasks one after another. Of the compute lane that holds for
// its passes (all units of a forward, or of a backward): the units of one are computed together, in any order.
#pragma once

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <string>
#include <vector>

#include "base/error.h"
#include "sched/step_run.h"

namespace gradwire {

// What nobody has seen yet.
inline StepRun unseen_run(const StepGraph& graph) {
  constexpr Seconds kNever = std::numeric_limits<Seconds>::quiet_NaN();
  StepRun run;
  for (const auto& tasks : graph.ranks)
    run.ranks.emplace_back(tasks.size(), TaskTimes{.begin = kNever, .end = kNever});
  return run;
}

class ExecutionCheck {
 public:
  ExecutionCheck(const StepGraph& graph, const StepRun& run) : graph_(graph), run_(run) {}

  void check() {
    for (Rank rank = 0; rank < static_cast<Rank>(graph_.ranks.size()); ++rank) check_rank(rank);
    for (const auto& [meeting, together] : meetings_)
      if (together.last_begin > together.first_end)
        throw Error(fmt::format("call {} of group {}: a rank had done it before another began",
                                meeting.second, meeting.first));
  }

 private:
  struct Together {
    Seconds last_begin = -std::numeric_limits<Seconds>::infinity();
    Seconds first_end = std::numeric_limits<Seconds>::infinity();
  };

  static bool computes(const Task& task) {
    return task.kind == TaskKind::forward || task.kind == TaskKind::backward || task.kind == TaskKind::update;
  }
  static bool same_pass(const Task& a, const Task& b) {
    return a.kind == b.kind && a.chunk == b.chunk && a.micro_batch == b.micro_batch;
  }

  void check_rank(Rank rank) {
    const auto& tasks = graph_.ranks[static_cast<std::size_t>(rank)];
    const auto& times = run_.ranks[static_cast<std::size_t>(rank)];
    std::map<int, int> calls;  // by group
    for (std::size_t i = 0; i < tasks.size(); ++i) {
      const auto fail = [&](const std::string& why) {
        throw Error(fmt::format("rank {}'s {}: {}", rank, describe(tasks[i]), why));
      };
      if (!(times[i].begin <= times[i].end)) fail("it was never done");
      for (const int before : tasks[i].after)
        if (times[i].begin < times[static_cast<std::size_t>(before)].end)
          fail("it began before the " + describe(tasks[static_cast<std::size_t>(before)]) + " had ended");
      for (std::size_t j = 0; j < i; ++j)
        if (in_turn(tasks[j], tasks[i]) && times[i].begin < times[j].end)
          fail("it began before the " + describe(tasks[j]) + ", which comes first in its lane, had ended");
      if (computes(tasks[i])) continue;
      auto& together = meetings_[{tasks[i].group, calls[tasks[i].group]++}];
      together.last_begin = std::max(together.last_begin, times[i].begin);
      together.first_end = std::min(together.first_end, times[i].end);
    }
  }

  static bool in_turn(const Task& first, const Task& second) {
    if (computes(first) != computes(second)) return false;
    return computes(first) ? !same_pass(first, second) : first.group == second.group;
  }

  const StepGraph& graph_;
  const StepRun& run_;
  std::map<std::pair<int, int>, Together> meetings_;  // by group and number
};

// Which task of which rank was not done, or not in its turn; nothing where all were.
inline std::string why_no_execution(const StepGraph& graph, const StepRun& run) {
  try {
    ExecutionCheck(graph, run).check();
  } catch (const Error& fault) {
    return fault.what();
  }
  return "";
}

}  // namespace gradwire
