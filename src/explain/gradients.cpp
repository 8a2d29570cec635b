#include "explain/gradients.h"

#include <algorithm>
#include <map>
#include <numeric>
#include <set>

#include "sched/buckets.h"

namespace gradwire {
namespace {

using Made = std::vector<MadeBucket>;

Bytes bytes_of(const Made& gradients) {
  return std::accumulate(gradients.begin(), gradients.end(), Bytes{0},
                         [](Bytes sum, const MadeBucket& one) { return sum + one.bytes; });
}

// They come in the order in which they are ready.
Made cut_into_buckets(const Made& gradients) {
  std::vector<BucketItem> items;
  for (const MadeBucket& one : gradients) items.push_back({one.bytes, 0});
  std::vector<int> order(items.size());
  std::iota(order.begin(), order.end(), 0);
  Made buckets;
  for (const Bucket& bucket : assign_buckets(items, order)) {
    MadeBucket made{bucket.bytes, INT64_MIN};
    for (const int member : bucket.members)
      made.ready = std::max(made.ready, gradients[static_cast<std::size_t>(member)].ready);
    buckets.push_back(made);
  }
  return buckets;
}

// When a share of some work was done.
Nanoseconds moment_of(const Intervals& work, double share) {
  auto left = static_cast<Nanoseconds>(share * static_cast<double>(length(work)));
  for (const Interval& part : work) {
    if (left <= part.end - part.begin) return part.begin + left;
    left -= part.end - part.begin;
  }
  return work.back().end;
}

Made spread_evenly(Bytes bytes, const Intervals& backward) {
  constexpr Bytes kPiece = Bytes{1} << 20, kMostPieces = 4096;
  if (bytes == 0 || backward.empty()) return {};
  const Bytes piece = std::max(kPiece, bytes / kMostPieces);
  Made pieces;
  for (Bytes sent = 0; sent < bytes;) {
    const Bytes next = std::min(piece, bytes - sent);
    sent += next;
    pieces.push_back({next, moment_of(backward, static_cast<double>(sent) / static_cast<double>(bytes))});
  }
  return pieces;
}

// When forwards did something: launched a kernel, or without a GPU ran an operator.
std::vector<Nanoseconds> forward_moments(const Profile& profile, const RankSteps& steps) {
  const LoopPlaces places(steps.marks);
  const Launches launches(profile);
  std::vector<Nanoseconds> moments;
  for (const Activity& activity : profile.activities) {
    const bool own = steps.on_gpu
                         ? activity.kind == ActivityKind::kernel
                         : activity.kind == ActivityKind::cpu_op && activity.lane == steps.marks.main_lane;
    const Activity* start = !own ? nullptr : steps.on_gpu ? launches.find(activity) : &activity;
    if (start != nullptr && places.part_of(start->lane, start->begin) == LoopPart::forward)
      moments.push_back(start->begin);
  }
  std::sort(moments.begin(), moments.end());
  return moments;
}

bool is_handed_over(const Profile& profile, const SizedOperator& one) {
  return profile.names[one.name].ends_with("AccumulateGrad");
}

// With accumulation each micro-batch hands the same gradients over, after a forward of its own: they travel once.
class Passes {
 public:
  void add(const MadeBucket& gradient, bool begins_pass) {
    if (begins_pass) finish();
    current_.push_back(gradient);
  }
  Made take() {
    finish();
    return std::move(best_);
  }

 private:
  void finish() {
    if (bytes_of(current_) >= bytes_of(best_)) best_ = std::move(current_);
    current_.clear();
  }
  Made current_, best_;
};

// By step.
std::vector<Made> handed_over(const Profile& profile, const RankSteps& steps) {
  const LoopPlaces places(steps.marks);
  const DoneByLaunch done(profile);
  const auto forwards = forward_moments(profile, steps);
  std::vector<Passes> passes(steps.steps.size());
  Nanoseconds before = INT64_MIN;
  for (const SizedOperator& one : profile.sized) {
    const int step = places.step_of(one.begin);
    if (step < 0 || places.is_after_all(one.begin) || !is_handed_over(profile, one)) continue;
    const auto next = std::lower_bound(forwards.begin(), forwards.end(), before);
    const bool after_forward = next != forwards.end() && *next < one.begin;
    const Nanoseconds ready = steps.on_gpu ? done.find(one.end).value_or(one.end) : one.end;
    passes[static_cast<std::size_t>(step)].add({one.bytes, ready}, after_forward);
    before = one.begin;
  }
  std::vector<Made> made;
  for (Passes& of_step : passes) made.push_back(of_step.take());
  return made;
}

// What an optimizer updates is what it calls a fused operator with. Others it may call several times on the same tensors, so
// lists of one size count once; of operators the one that reaches most.
Bytes updated_bytes(const Profile& profile, const Landmarks& marks, const Interval& window) {
  std::map<std::uint32_t, std::multiset<Bytes>> calls;
  for (const SizedOperator& one : profile.sized)
    if (!is_handed_over(profile, one) && one.begin >= window.begin && one.begin < window.end &&
        contains(marks.any_optimizer, one.begin))
      calls[one.name].insert(one.bytes);
  Bytes most = 0;
  for (const auto& [name, lists] : calls) {
    const bool once = profile.names[name].starts_with("aten::_fused_");
    const std::set<Bytes> different(lists.begin(), lists.end());
    most = std::max(most, once ? std::accumulate(lists.begin(), lists.end(), Bytes{0})
                               : std::accumulate(different.begin(), different.end(), Bytes{0}));
  }
  return most;
}

}  // namespace

DoneByLaunch::DoneByLaunch(const Profile& profile) : launches_(profile) {
  for (const Activity& activity : profile.activities)
    if (activity.kind == ActivityKind::kernel)
      if (const Activity* launch = launches_.find(activity)) done_.emplace_back(launch->begin, activity.end);
  std::sort(done_.begin(), done_.end());
  for (std::size_t i = 1; i < done_.size(); ++i)
    done_[i].second = std::max(done_[i].second, done_[i - 1].second);
}

std::optional<Nanoseconds> DoneByLaunch::find(Nanoseconds launched_before) const {
  const auto after = std::lower_bound(done_.begin(), done_.end(), std::pair(launched_before, Nanoseconds{0}));
  return after == done_.begin() ? std::nullopt : std::optional(std::prev(after)->second);
}

Nanoseconds DoneByLaunch::ready(const Activity& collective) const {
  const Activity* launch = launches_.find(collective);
  if (launch == nullptr) return collective.begin;
  return std::min(collective.begin, find(launch->begin).value_or(collective.begin));
}

std::vector<std::vector<MadeBucket>> made_buckets(const Profile& profile, const RankSteps& steps,
                                                  const PlacedWork& work, double parameters) {
  std::vector<Made> made =
      parameters > 0 ? std::vector<Made>(steps.steps.size()) : handed_over(profile, steps);
  const bool known = std::any_of(made.begin(), made.end(), [](const Made& one) { return !one.empty(); });
  for (std::size_t i = 0; i < made.size(); ++i) {
    const Bytes bytes = parameters > 0 ? static_cast<Bytes>(parameters * 4)
                                       : updated_bytes(profile, steps.marks, steps.marks.steps[i].window);
    if (!known) made[i] = spread_evenly(bytes, within(work.backward, steps.steps[i].window));
    made[i] = cut_into_buckets(made[i]);
  }
  return made;
}

}  // namespace gradwire
