#include "explain/landmarks.h"

#include <algorithm>

#include "import/communication_names.h"
#include "import/profile.h"

namespace gradwire {
namespace {

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

Intervals& set_of(PlacedWork& work, LoopPart part) {
  if (part == LoopPart::forward) return work.forward;
  if (part == LoopPart::backward) return work.backward;
  return part == LoopPart::optimizer ? work.optimizer : work.other;
}

bool is_synchronising(std::string_view name) {
  return name.find("Synchronize") != std::string_view::npos || name == "cudaMemcpy" || name == "hipMemcpy";
}

bool is_copy_in(std::string_view name) {
  return name.find("HtoD") != std::string_view::npos || name.find("HostToDevice") != std::string_view::npos;
}

// Something that the processor started on the GPU, or where that is not told, that began there.
struct Start {
  Nanoseconds at = 0;
  int step = 0;
  LoopPart part = LoopPart::other;
};

Start start_of(const LoopPlaces& places, const Activity& activity, const Activity* launch) {
  if (launch == nullptr)
    return {activity.begin, places.step_of(activity.begin), places.part_of(activity.begin)};
  return {launch->begin, places.step_of(launch->begin), places.part_of(launch->lane, launch->begin)};
}

// Which launch is the first of a batch: what came before it is waiting for the batch, if anything is. It is the first of a
// step, or of a forward after a backward or the optimizer; where no optimizer is marked its kernels look like forward's, so
// then it is the first after a pause.
class Batches {
 public:
  explicit Batches(bool optimizer_marked) : optimizer_marked_(optimizer_marked) {}

  bool begin_with(const Start& next, bool after_pause) {
    const bool fresh = next.step != step_;
    const bool begins = fresh || (next.part == LoopPart::forward && updated_);
    if (fresh || (next.part == LoopPart::forward && (after_pause || optimizer_marked_))) updated_ = false;
    if (next.part == LoopPart::backward || next.part == LoopPart::optimizer) updated_ = true;
    step_ = next.step;
    return begins;
  }

 private:
  const bool optimizer_marked_;
  int step_ = -1;
  bool updated_ = false;  // a backward or the optimizer ran since the last batch began
};

// From the first step to the last, where nothing was started for long. Operators may run there: they make a batch, say. A
// GPU that is busy all the while waits for nothing.
void add_pauses(PlacedWork& work, std::vector<Start> starts, const Intervals& busy, const Landmarks& marks) {
  if (starts.empty()) return;
  std::sort(starts.begin(), starts.end(), [](const Start& a, const Start& b) { return a.at < b.at; });
  Nanoseconds before = marks.steps.front().window.begin;
  Batches batches(!marks.any_optimizer.empty());
  for (const Start& next : starts) {
    const Interval pause{before, next.at};
    const bool starves =
        next.at - before >= kLongPause && length(without({pause}, within(busy, pause))) >= kLongPause;
    const bool begins = batches.begin_with(next, starves);
    if (starves) work.quiet.push_back(pause);
    if (starves && begins) work.before_batch.push_back(pause);
    before = next.at;
  }
  const Nanoseconds end = marks.steps.back().window.end;
  if (end - before >= kLongPause) work.quiet.push_back({before, end});
}

void unite_all(PlacedWork& work) {
  for (Intervals* set :
       {&work.forward, &work.backward, &work.optimizer, &work.other, &work.communication, &work.copies,
        &work.copies_in, &work.synchronising, &work.queued, &work.quiet, &work.before_batch})
    *set = united(std::move(*set));
}

}  // namespace

LoopPlaces::LoopPlaces(const Landmarks& marks) : marks_(marks), last_backward_(last_backwards(marks)) {}

int LoopPlaces::step_of(Nanoseconds moment) const {
  const auto after =
      std::upper_bound(marks_.steps.begin(), marks_.steps.end(), moment,
                       [](Nanoseconds value, const HostStep& step) { return value < step.window.begin; });
  return static_cast<int>(after - marks_.steps.begin()) - 1;
}

bool LoopPlaces::is_after_all(Nanoseconds moment) const {
  return !marks_.steps.empty() && moment > marks_.steps.back().window.end;
}

LoopPart LoopPlaces::part_of(std::int32_t lane, Nanoseconds moment) const {
  if (is_in(marks_.optimizer, lane, moment)) return LoopPart::optimizer;
  if (is_in(marks_.backward, lane, moment)) return LoopPart::backward;
  const int step = step_of(moment);
  if (step < 0) return LoopPart::other;
  return moment < last_backward_[static_cast<std::size_t>(step)] ? LoopPart::forward : LoopPart::other;
}

LoopPart LoopPlaces::part_of(Nanoseconds moment) const {
  if (contains(marks_.any_optimizer, moment)) return LoopPart::optimizer;
  return contains(marks_.any_backward, moment) ? LoopPart::backward : LoopPart::other;
}

PlacedWork place_gpu_work(const Profile& profile, const Landmarks& marks) {
  PlacedWork work;
  work.step_ends.assign(marks.steps.size(), 0);
  const LoopPlaces places(marks);
  const Launches launches(profile);
  std::vector<Start> starts;
  Intervals busy;
  for (const Activity& activity : profile.activities) {
    const Interval span{activity.begin, activity.end};
    if (activity.kind == ActivityKind::runtime && is_synchronising(profile.name_of(activity)))
      work.synchronising.push_back(span);
    if (is_host_backend_span(profile.name_of(activity))) work.communication.push_back(span);
    if (!on_gpu(activity.kind)) continue;
    const Activity* launch = launches.find(activity);
    if (launch != nullptr) work.queued.push_back({launch->end, activity.begin});
    const Start start = start_of(places, activity, launch);
    starts.push_back(start);
    busy.push_back(span);
    const bool counts = launch == nullptr || !places.is_after_all(launch->begin);
    Nanoseconds& done =
        start.step < 0 ? work.before_end : work.step_ends[static_cast<std::size_t>(start.step)];
    if (counts) done = std::max(done, activity.end);
    if (activity.kind == ActivityKind::communication)
      work.communication.push_back(span);
    else if (activity.kind == ActivityKind::copy)
      (is_copy_in(profile.name_of(activity)) ? work.copies_in : work.copies).push_back(span);
    else
      set_of(work, start.part).push_back(span);
  }
  add_pauses(work, std::move(starts), united(std::move(busy)), marks);
  work.copies.insert(work.copies.end(), work.copies_in.begin(), work.copies_in.end());
  unite_all(work);
  return work;
}

PlacedWork place_host_work(const Profile& profile, const Landmarks& marks) {
  PlacedWork work;
  const LoopPlaces places(marks);
  for (const Activity& activity : profile.activities) {
    const Interval span{activity.begin, activity.end};
    if (is_backend_span(profile.name_of(activity)))
      work.communication.push_back(span);
    else if (activity.lane == marks.main_lane && activity.kind == ActivityKind::cpu_op)
      set_of(work, places.part_of(activity.lane, activity.begin)).push_back(span);
  }
  if (marks.main_lane)
    if (const auto found = marks.optimizer.find(*marks.main_lane); found != marks.optimizer.end())
      work.optimizer.insert(work.optimizer.end(), found->second.begin(), found->second.end());
  unite_all(work);
  return work;
}

}  // namespace gradwire
