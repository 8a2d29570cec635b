#include "explain/landmarks.h"

#include <algorithm>

#include "import/communication_names.h"

namespace gradwire {
namespace {

enum class Habit {
  none,
  forward,
  optimizer,
  search,
  all_reduce,
  broadcast,
  batch_norm,
  bucket_copy,
  buffer_copy
};

// What puts buffers into one tensor and takes them out of it again.
bool is_buffer_copy(std::string_view name) {
  constexpr std::string_view kNames[] = {"aten::flatten_dense_tensors",
                                         "aten::unflatten_dense_tensors",
                                         "aten::copy_",
                                         "aten::view",
                                         "aten::reshape",
                                         "aten::cat",
                                         "aten::narrow",
                                         "aten::slice",
                                         "aten::as_strided",
                                         "aten::empty",
                                         "aten::detach"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

Habit habit_of(std::string_view name) {
  if (name.starts_with("DistributedDataParallel.forward")) return Habit::forward;
  if (name.starts_with("Optimizer.step")) return Habit::optimizer;
  if (name.find("search_unused_parameters") != std::string_view::npos) return Habit::search;
  if (name.find("reducer::mul_out") != std::string_view::npos ||
      name.find("copy_bucket_to_grad") != std::string_view::npos)
    return Habit::bucket_copy;
  if (is_buffer_copy(name)) return Habit::buffer_copy;
  if (name.find("SyncBatchNorm") != std::string_view::npos ||
      name.find("batch_norm_gather_stats") != std::string_view::npos)
    return Habit::batch_norm;
  if (!is_backend_span(name) && !name.starts_with("c10d::")) return Habit::none;
  const auto collective = collective_of(name);
  if (collective == Collective::broadcast) return Habit::broadcast;
  return collective == Collective::all_reduce ? Habit::all_reduce : Habit::none;
}

// "torch::distributed::reducer::mul_out", "torch.distributed.ddp.reducer::search_unused_parameters"
bool is_of_reducer(std::string_view name) { return name.find("reducer::") != std::string_view::npos; }

// What a forward does before the model's: where it broadcasts buffers, all until an operator that does not handle them.
class Buffering {
 public:
  void see(const Activity& activity, Habit habit, LoopHabits& found) {
    if (habit == Habit::broadcast) {
      ++found.broadcasts;
      found.forward_broadcasts += activity.begin < forward_end_;
    }
    if (habit == Habit::forward) {
      forward_ = &activity;
      forward_end_ = activity.end;
      broadcasts_ = false;
    } else if (forward_ != nullptr && activity.begin >= forward_->end) {
      forward_ = nullptr;
    } else if (habit == Habit::broadcast) {
      broadcasts_ = true;
    } else if (forward_ != nullptr && broadcasts_ && habit != Habit::buffer_copy &&
               activity.kind == ActivityKind::cpu_op && activity.lane == forward_->lane) {
      ++found.buffered;
      found.buffering += static_cast<Seconds>(activity.begin - forward_->begin) * 1e-9;
      forward_ = nullptr;
    }
  }

 private:
  const Activity* forward_ = nullptr;  // whose model has not begun
  Nanoseconds forward_end_ = INT64_MIN;
  bool broadcasts_ = false;
};

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
  found.reducer = std::any_of(profile.names.begin(), profile.names.end(), is_of_reducer);
  std::vector<Nanoseconds> forwards, all_reduces;
  Buffering buffering;
  for (const Activity& activity : profile.activities) {
    if (on_gpu(activity.kind)) continue;
    const Habit habit = habits[activity.name];
    if (habit == Habit::forward) forwards.push_back(activity.begin);
    if (habit == Habit::all_reduce) all_reduces.push_back(activity.begin);
    found.optimizer_steps += habit == Habit::optimizer;
    found.sync_batch_norm = found.sync_batch_norm || habit == Habit::batch_norm;
    buffering.see(activity, habit, found);
    const Seconds time = static_cast<Seconds>(activity.end - activity.begin) * 1e-9;
    if (habit == Habit::bucket_copy) found.bucketing += time;
    if (habit != Habit::search) continue;
    ++found.searches;
    found.searching += time;
  }
  found.forwards = static_cast<int>(forwards.size());
  found.synced_forwards = count_synced(forwards, std::move(all_reduces));
  return found;
}

}  // namespace gradwire
