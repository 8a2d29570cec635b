#include <algorithm>
#include <unordered_map>
#include <unordered_set>

#include "import/communication_names.h"
#include "import/profile.h"
#include "import/profile_builder.h"

namespace gradwire {
namespace {

using CallIndex = std::unordered_map<std::int64_t, std::int32_t>;  // by external id

CallIndex calls_by_external(const Profile& profile) {
  CallIndex index;
  for (const Activity& activity : profile.activities)
    if (activity.call >= 0 && !on_gpu(activity.kind) && activity.external >= 0)
      index.emplace(activity.external, activity.call);
  return index;
}

// The spans of collectives on the processor, by lane and begin.
std::vector<const Activity*> host_calls(const Profile& profile) {
  std::vector<const Activity*> spans;
  for (const Activity& activity : profile.activities)
    if (activity.call >= 0 && !on_gpu(activity.kind)) spans.push_back(&activity);
  std::stable_sort(spans.begin(), spans.end(), [](auto a, auto b) { return a->lane < b->lane; });
  return spans;
}

// The innermost span around a moment: of those that begin before it, the last that has not ended. A handful
// back is enough, because these spans nest two or three deep.
const Activity* find_around(const std::vector<const Activity*>& spans, std::int32_t lane,
                            Nanoseconds moment) {
  auto at = std::upper_bound(
      spans.begin(), spans.end(), std::pair(lane, moment),
      [](const auto& key, const Activity* span) { return key < std::pair(span->lane, span->begin); });
  for (int steps = 0; at != spans.begin() && steps < 8; ++steps) {
    --at;
    if ((*at)->lane != lane) return nullptr;
    if ((*at)->end >= moment) return *at;
  }
  return nullptr;
}

// The first of each collective's spans on the processor, for kernels that nothing else leads to.
std::vector<std::int32_t> calls_in_order(const std::vector<const Activity*>& spans) {
  std::vector<const Activity*> outer;
  for (const Activity* span : spans)
    if (outer.empty() || outer.back()->lane != span->lane || outer.back()->end <= span->begin)
      outer.push_back(span);
  std::sort(outer.begin(), outer.end(), [](auto a, auto b) { return a->begin < b->begin; });
  std::vector<std::int32_t> calls;
  for (const Activity* span : outer) calls.push_back(span->call);
  return calls;
}

// Where no kernel is known to communicate by its name and yet collectives were called: those launched inside the
// calls do it.
void adopt_nameless_kernels(Profile& profile) {
  const auto talks = [](const Activity& activity) { return activity.kind == ActivityKind::communication; };
  if (std::any_of(profile.activities.begin(), profile.activities.end(), talks)) return;
  std::vector<const Activity*> calls;
  for (const Activity& activity : profile.activities)
    if (!on_gpu(activity.kind) &&
        (profile.name_of(activity) == "record_param_comms" || is_backend_span(profile.name_of(activity)) ||
         profile.name_of(activity).starts_with("c10d::all")))
      calls.push_back(&activity);
  if (calls.empty()) return;
  std::unordered_set<std::int64_t> ids;
  for (const Activity* call : calls)
    if (call->external >= 0) ids.insert(call->external);
  std::stable_sort(calls.begin(), calls.end(), [](auto a, auto b) { return a->lane < b->lane; });
  const Launches launches(profile);
  for (Activity& activity : profile.activities) {
    if (activity.kind != ActivityKind::kernel) continue;
    const Activity* launch = launches.find(activity);
    const bool inside = launch != nullptr && find_around(calls, launch->lane, launch->begin) != nullptr;
    const bool named = activity.external != activity.correlation && ids.contains(activity.external);
    if (inside || (launch == nullptr && named)) activity.kind = ActivityKind::communication;
  }
}

}  // namespace

void link_calls(Profile& profile) {
  adopt_nameless_kernels(profile);
  const auto by_external = calls_by_external(profile);
  const auto spans = host_calls(profile);
  if (spans.empty()) return;
  const Launches launches(profile);
  std::vector<Activity*> unlinked;
  for (Activity& activity : profile.activities) {
    if (activity.kind != ActivityKind::communication || activity.call >= 0) continue;
    const auto found = by_external.find(activity.external);
    const Activity* launch = launches.find(activity);
    const Activity* around = launch == nullptr ? nullptr : find_around(spans, launch->lane, launch->begin);
    if (found != by_external.end() && activity.external != activity.correlation)
      activity.call = found->second;
    else if (around != nullptr)
      activity.call = around->call;
    else
      unlinked.push_back(&activity);
  }
  const auto ordered = calls_in_order(spans);
  if (unlinked.size() != ordered.size()) return;
  for (std::size_t i = 0; i < unlinked.size(); ++i) unlinked[i]->call = ordered[i];
}

Launches::Launches(const Profile& profile) : profile_(profile) {
  for (std::uint32_t i = 0; i < profile.activities.size(); ++i)
    if (profile.activities[i].kind == ActivityKind::runtime && profile.activities[i].correlation >= 0)
      by_correlation_.emplace_back(profile.activities[i].correlation, i);
  std::sort(by_correlation_.begin(), by_correlation_.end());
}

const Activity* Launches::find(const Activity& activity) const {
  if (activity.correlation < 0) return nullptr;
  const auto found = std::lower_bound(by_correlation_.begin(), by_correlation_.end(),
                                      std::pair(activity.correlation, std::uint32_t{0}));
  if (found == by_correlation_.end() || found->first != activity.correlation) return nullptr;
  return &profile_.activities[found->second];
}

}  // namespace gradwire
