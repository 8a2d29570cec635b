#include "explain/analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "explain/collectives.h"
#include "explain/landmarks.h"
#include "import/profile.h"

namespace gradwire {
namespace {

// By the time of launch: when the GPU was done with this kernel and all launched before it.
class DoneByLaunch {
 public:
  explicit DoneByLaunch(const Profile& profile) : launches_(profile) {
    for (const Activity& activity : profile.activities)
      if (activity.kind == ActivityKind::kernel)
        if (const Activity* launch = launches_.find(activity))
          done_.emplace_back(launch->begin, activity.end);
    std::sort(done_.begin(), done_.end());
    for (std::size_t i = 1; i < done_.size(); ++i)
      done_[i].second = std::max(done_[i].second, done_[i - 1].second);
  }

  // When what the collective waits for was done; its own begin where the trace does not tell.
  Nanoseconds ready(const Activity& collective) const {
    const Activity* launch = launches_.find(collective);
    if (launch == nullptr) return collective.begin;
    const auto after = std::lower_bound(done_.begin(), done_.end(), std::pair(launch->begin, Nanoseconds{0}));
    return after == done_.begin() ? collective.begin : std::min(collective.begin, std::prev(after)->second);
  }

 private:
  Launches launches_;
  std::vector<std::pair<Nanoseconds, Nanoseconds>> done_;
};

class TimelineBuilder {
 public:
  TimelineBuilder(Timeline& timeline, Nanoseconds zero) : timeline_(timeline), zero_(zero) {}

  void add(SpanKind kind, const Intervals& set, int step, const Interval& window) {
    for (const Interval& one : within(set, window)) {
      Span span;
      span.step = step;
      span.kind = kind;
      span.begin = seconds(one.begin);
      span.end = seconds(one.end);
      timeline_.spans.push_back(std::move(span));
    }
  }

  // A step ends with its last span: this one takes no time.
  void end_step(int step, Nanoseconds moment) {
    Span span;
    span.step = step;
    span.kind = SpanKind::other;
    span.begin = span.end = seconds(moment);
    timeline_.spans.push_back(std::move(span));
  }

  void add_bucket(const CollectiveSpan& collective, Nanoseconds ready, int step, int number) {
    Span span;
    span.step = step;
    span.kind = SpanKind::bucket;
    span.begin = seconds(collective.begin);
    span.end = seconds(collective.end);
    span.ready = std::clamp(seconds(ready), 0.0, span.begin);
    span.bucket = number;
    span.bytes = collective.bytes;
    timeline_.spans.push_back(std::move(span));
  }

 private:
  Seconds seconds(Nanoseconds moment) const { return static_cast<Seconds>(moment - zero_) * 1e-9; }
  Timeline& timeline_;
  const Nanoseconds zero_;
};

bool carries_gradients(const CollectiveSpan& span, const Interval& window) {
  return span.collective.kind == Collective::all_reduce && span.bytes > 0 && span.begin >= window.begin &&
         span.begin < window.end;
}

std::vector<const Activity*> collective_activities(const Profile& profile, const RankSteps& steps) {
  std::vector<const Activity*> activities;
  for (const Activity& activity : profile.activities)
    if (is_collective(profile, steps, activity)) activities.push_back(&activity);
  return activities;
}

[[noreturn]] void refuse_profile(const Profile& profile) {
  throw ConfigError(
      fmt::format("{}: no step has an all-reduce whose size the trace tells: record several ranks with "
                  "PyTorch 2.2 or later, or with record_shapes=True",
                  profile.file));
}

}  // namespace

Timeline timeline_of(const Profile& profile) {
  const RankSteps steps = rank_steps(profile);
  const Landmarks marks = find_landmarks(profile);
  const PlacedWork work = steps.on_gpu ? place_gpu_work(profile, marks) : place_host_work(profile, marks);
  const auto spans = collective_spans(profile, steps);
  const auto activities = collective_activities(profile, steps);  // of the same order as spans
  const DoneByLaunch done(profile);
  Timeline timeline;
  timeline.source =
      steps.on_gpu ? "torch.profiler" + (profile.gpus.empty() ? std::string() : " on " + profile.gpus.front())
                   : kOnProcessor;
  timeline.ranks = std::max(1, profile.world.value_or(1));
  TimelineBuilder builder(timeline, steps.steps.front().window.begin);
  int buckets = 0;
  for (std::size_t i = 0; i < steps.steps.size(); ++i) {
    const Interval& window = steps.steps[i].window;
    const int step = static_cast<int>(i);
    builder.add(SpanKind::optimizer, work.optimizer, step, window);
    builder.add(SpanKind::backward, work.backward, step, window);
    builder.add(SpanKind::forward, work.forward, step, window);
    builder.add(SpanKind::other, united(work.other, work.copies), step, window);
    builder.add(SpanKind::data, without(marks.input, united(steps.computing, work.communication)), step,
                window);
    for (std::size_t j = 0, number = 0; j < spans.size(); ++j)
      if (carries_gradients(spans[j], window)) {
        builder.add_bucket(spans[j], done.ready(*activities[j]), step, static_cast<int>(number++));
        ++buckets;
      }
  }
  if (buckets == 0) refuse_profile(profile);
  builder.end_step(static_cast<int>(steps.steps.size()) - 1, steps.steps.back().window.end);
  return timeline;
}

}  // namespace gradwire
