#include "explain/landmarks.h"

#include <algorithm>

#include "import/communication_names.h"

namespace gradwire {
namespace {

enum class Habit { none, forward, optimizer, search, all_reduce, batch_norm };

Habit habit_of(std::string_view name) {
  if (name.starts_with("DistributedDataParallel.forward")) return Habit::forward;
  if (name.starts_with("Optimizer.step")) return Habit::optimizer;
  if (name.find("search_unused_parameters") != std::string_view::npos) return Habit::search;
  if (name.find("SyncBatchNorm") != std::string_view::npos ||
      name.find("batch_norm_gather_stats") != std::string_view::npos)
    return Habit::batch_norm;
  const bool all_reduces = (is_backend_span(name) || name.starts_with("c10d::allreduce")) &&
                           collective_of(name) == Collective::all_reduce;
  return all_reduces ? Habit::all_reduce : Habit::none;
}

// How many forwards have one of these moments between them and the next.
int count_synced(const std::vector<Nanoseconds>& forwards, std::vector<Nanoseconds> all_reduces) {
  std::sort(all_reduces.begin(), all_reduces.end());
  int synced = 0;
  for (std::size_t i = 0; i < forwards.size(); ++i) {
    const Nanoseconds next = i + 1 < forwards.size() ? forwards[i + 1] : INT64_MAX;
    const auto first = std::lower_bound(all_reduces.begin(), all_reduces.end(), forwards[i]);
    synced += first != all_reduces.end() && *first < next;
  }
  return synced;
}

}  // namespace

LoopHabits loop_habits(const Profile& profile) {
  std::vector<Habit> habits;
  for (const std::string& name : profile.names) habits.push_back(habit_of(name));
  LoopHabits found;
  std::vector<Nanoseconds> forwards, all_reduces;
  for (const Activity& activity : profile.activities) {
    if (on_gpu(activity.kind)) continue;
    const Habit habit = habits[activity.name];
    if (habit == Habit::forward) forwards.push_back(activity.begin);
    if (habit == Habit::all_reduce) all_reduces.push_back(activity.begin);
    found.optimizer_steps += habit == Habit::optimizer;
    found.sync_batch_norm = found.sync_batch_norm || habit == Habit::batch_norm;
    if (habit != Habit::search) continue;
    ++found.searches;
    found.searching += static_cast<Seconds>(activity.end - activity.begin) * 1e-9;
  }
  found.forwards = static_cast<int>(forwards.size());
  found.synced_forwards = count_synced(forwards, std::move(all_reduces));
  return found;
}

}  // namespace gradwire
