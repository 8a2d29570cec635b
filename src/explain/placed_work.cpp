#include "explain/landmarks.h"

#include <algorithm>

#include "import/communication_names.h"
#include "import/profile.h"

namespace gradwire {
namespace {

enum class Part { forward, backward, optimizer, other };

bool is_in(const std::map<std::int32_t, Intervals>& lanes, std::int32_t lane, Nanoseconds moment) {
  const auto found = lanes.find(lane);
  return found != lanes.end() && contains(found->second, moment);
}

// The last backward that begins in each step: what is launched after it and is neither backward nor the
// optimizer's clips gradients, logs, and so on. A step without one has none.
std::vector<Nanoseconds> last_backwards(const Landmarks& marks) {
  std::vector<Nanoseconds> last(marks.steps.size(), marks.any_backward.empty() ? INT64_MAX : INT64_MIN);
  for (std::size_t i = 0; i < marks.steps.size(); ++i) {
    const auto inside = within(marks.any_backward, marks.steps[i].window);
    if (!inside.empty()) last[i] = inside.back().end;
  }
  return last;
}

class Placer {
 public:
  explicit Placer(const Landmarks& marks) : marks_(marks), last_backward_(last_backwards(marks)) {}

  // The step whose window on the processor holds a moment, or the one before it; -1 before all.
  int step_of(Nanoseconds moment) const {
    const auto after =
        std::upper_bound(marks_.steps.begin(), marks_.steps.end(), moment,
                         [](Nanoseconds value, const HostStep& step) { return value < step.window.begin; });
    return static_cast<int>(after - marks_.steps.begin()) - 1;
  }

  // What was launched when the last step had ended belongs to one that is not marked: the file is cut off, or the
  // program went on to something else.
  bool is_after_all(Nanoseconds moment) const {
    return !marks_.steps.empty() && moment > marks_.steps.back().window.end;
  }

  Part part_of(std::int32_t lane, Nanoseconds moment) const {
    if (is_in(marks_.optimizer, lane, moment)) return Part::optimizer;
    if (is_in(marks_.backward, lane, moment)) return Part::backward;
    const int step = step_of(moment);
    if (step < 0) return Part::other;
    return moment < last_backward_[static_cast<std::size_t>(step)] ? Part::forward : Part::other;
  }

  // Of something whose launch is not known: by what the loop did just then.
  Part part_of(Nanoseconds moment) const {
    if (contains(marks_.any_optimizer, moment)) return Part::optimizer;
    return contains(marks_.any_backward, moment) ? Part::backward : Part::other;
  }

 private:
  const Landmarks& marks_;
  const std::vector<Nanoseconds> last_backward_;
};

Intervals& set_of(PlacedWork& work, Part part) {
  if (part == Part::forward) return work.forward;
  if (part == Part::backward) return work.backward;
  return part == Part::optimizer ? work.optimizer : work.other;
}

bool is_synchronising(std::string_view name) {
  return name.find("Synchronize") != std::string_view::npos || name == "cudaMemcpy" || name == "hipMemcpy";
}

bool is_copy_in(std::string_view name) {
  return name.find("HtoD") != std::string_view::npos || name.find("HostToDevice") != std::string_view::npos;
}

// What no operator and no call of the runtime covers, from the first step to the last, where that is long. Nothing
// where nothing of the processor is known.
Intervals long_pauses(Intervals busy, const std::vector<HostStep>& steps) {
  if (busy.empty()) return {};
  auto pauses = without({{steps.front().window.begin, steps.back().window.end}}, united(std::move(busy)));
  std::erase_if(pauses, [](const Interval& pause) { return pause.end - pause.begin < kLongPause; });
  return pauses;
}

void unite_all(PlacedWork& work) {
  for (Intervals* set : {&work.forward, &work.backward, &work.optimizer, &work.other, &work.communication,
                         &work.copies, &work.copies_in, &work.synchronising, &work.queued})
    *set = united(std::move(*set));
}

}  // namespace

PlacedWork place_gpu_work(const Profile& profile, const Landmarks& marks) {
  PlacedWork work;
  work.step_ends.assign(marks.steps.size(), 0);
  const Placer placer(marks);
  const Launches launches(profile);
  Intervals busy;
  for (const Activity& activity : profile.activities) {
    const Interval span{activity.begin, activity.end};
    if (activity.kind == ActivityKind::cpu_op || activity.kind == ActivityKind::runtime) busy.push_back(span);
    if (activity.kind == ActivityKind::runtime && is_synchronising(profile.name_of(activity)))
      work.synchronising.push_back(span);
    if (is_host_backend_span(profile.name_of(activity))) work.communication.push_back(span);
    if (!on_gpu(activity.kind)) continue;
    const Activity* launch = launches.find(activity);
    if (launch != nullptr) work.queued.push_back({launch->end, activity.begin});
    const int step = placer.step_of(launch == nullptr ? activity.begin : launch->begin);
    if (step >= 0 && !(launch != nullptr && placer.is_after_all(launch->begin)))
      work.step_ends[step] = std::max(work.step_ends[step], activity.end);
    if (activity.kind == ActivityKind::communication)
      work.communication.push_back(span);
    else if (activity.kind == ActivityKind::copy)
      (is_copy_in(profile.name_of(activity)) ? work.copies_in : work.copies).push_back(span);
    else
      set_of(work,
             launch == nullptr ? placer.part_of(activity.begin) : placer.part_of(launch->lane, launch->begin))
          .push_back(span);
  }
  work.quiet = long_pauses(std::move(busy), marks.steps);
  work.copies.insert(work.copies.end(), work.copies_in.begin(), work.copies_in.end());
  unite_all(work);
  return work;
}

PlacedWork place_host_work(const Profile& profile, const Landmarks& marks) {
  PlacedWork work;
  const Placer placer(marks);
  for (const Activity& activity : profile.activities) {
    const Interval span{activity.begin, activity.end};
    if (is_backend_span(profile.name_of(activity)))
      work.communication.push_back(span);
    else if (activity.lane == marks.main_lane && activity.kind == ActivityKind::cpu_op)
      set_of(work, placer.part_of(activity.lane, activity.begin)).push_back(span);
  }
  if (marks.main_lane)
    if (const auto found = marks.optimizer.find(*marks.main_lane); found != marks.optimizer.end())
      work.optimizer.insert(work.optimizer.end(), found->second.begin(), found->second.end());
  unite_all(work);
  return work;
}

}  // namespace gradwire
