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

// Each collective's outermost span on the processor, one after the other.
std::vector<const Activity*> outermost(const std::vector<const Activity*>& spans) {
  std::vector<const Activity*> outer;
  for (const Activity* span : spans)
    if (outer.empty() || outer.back()->lane != span->lane || outer.back()->end <= span->begin)
      outer.push_back(span);
  std::sort(outer.begin(), outer.end(), [](auto a, auto b) { return a->begin < b->begin; });
  return outer;
}

// Calls of collectives whose work is the GPU's, whether they say their sizes or not, by lane and begin.
std::vector<const Activity*> gpu_backend_calls(const Profile& profile) {
  std::vector<const Activity*> calls;
  for (const Activity& activity : profile.activities) {
    const auto name = profile.name_of(activity);
    const bool backend = is_backend_span(name) && !is_host_backend_span(name);
    if (!on_gpu(activity.kind) && (backend || name == "record_param_comms" || name.starts_with("c10d::all")))
      calls.push_back(&activity);
  }
  std::stable_sort(calls.begin(), calls.end(), [](auto a, auto b) { return a->lane < b->lane; });
  return calls;
}

// What covers a kernel on its stream; these spans, by lane and begin, do not nest.
const GpuCallSpan* find_cover(const std::vector<GpuCallSpan>& spans, const Activity& kernel) {
  const auto after = std::upper_bound(
      spans.begin(), spans.end(), std::pair(kernel.lane, kernel.begin),
      [](const auto& key, const GpuCallSpan& span) { return key < std::pair(span.lane, span.begin); });
  if (after == spans.begin()) return nullptr;
  const GpuCallSpan& span = *std::prev(after);
  return span.lane == kernel.lane && kernel.end <= span.end ? &span : nullptr;
}

using KernelsByLane = std::unordered_map<std::int32_t, std::vector<Activity*>>;

// Streams of which the trace tells no launch: ROCm's may be so.
KernelsByLane kernels_without_launch(Profile& profile, const Launches& launches) {
  KernelsByLane lanes;
  std::unordered_set<std::int32_t> launched;
  for (Activity& activity : profile.activities) {
    if (activity.kind != ActivityKind::kernel) continue;
    if (launches.find(activity) != nullptr) launched.insert(activity.lane);
    lanes[activity.lane].push_back(&activity);
  }
  std::erase_if(lanes, [&](const auto& lane) { return launched.contains(lane.first); });
  return lanes;
}

// Collectives have a stream of their own: the one that has a kernel for each call, none before its call. Clocks of the two
// sides may differ a little. Nothing where several streams are like that.
void adopt_stream(Profile& profile, const std::vector<const Activity*>& calls, const Launches& launches) {
  constexpr Nanoseconds kClocksDiffer = 100'000;
  const auto outer = outermost(calls);
  const auto follows = [](const Activity* kernel, const Activity* call) {
    return kernel->begin + kClocksDiffer >= call->begin;
  };
  const std::vector<Activity*>* own = nullptr;
  const KernelsByLane lanes = kernels_without_launch(profile, launches);
  for (const auto& [lane, kernels] : lanes) {
    if (kernels.size() != outer.size() || !std::equal(kernels.begin(), kernels.end(), outer.begin(), follows))
      continue;
    if (own != nullptr) return;
    own = &kernels;
  }
  if (own == nullptr) return;
  for (Activity* kernel : *own) kernel->kind = ActivityKind::communication;
}

bool talks(const Profile& profile) {
  return std::any_of(profile.activities.begin(), profile.activities.end(),
                     [](const Activity& activity) { return activity.kind == ActivityKind::communication; });
}

// Where no kernel is known to communicate by its name and yet collectives were called: those launched inside the calls do
// it, and those that the GPU's side of a call covers.
void adopt_nameless_kernels(Profile& profile, const std::vector<GpuCallSpan>& covers) {
  const auto calls = gpu_backend_calls(profile);
  if ((calls.empty() && covers.empty()) || talks(profile)) return;
  std::unordered_set<std::int64_t> ids;
  for (const Activity* call : calls)
    if (call->external >= 0) ids.insert(call->external);
  const Launches launches(profile);
  for (Activity& activity : profile.activities) {
    if (activity.kind != ActivityKind::kernel) continue;
    const Activity* launch = launches.find(activity);
    const bool inside = launch != nullptr && find_around(calls, launch->lane, launch->begin) != nullptr;
    const bool named = activity.external != activity.correlation && ids.contains(activity.external);
    if (inside || (launch == nullptr && named) || find_cover(covers, activity) != nullptr)
      activity.kind = ActivityKind::communication;
  }
  if (!calls.empty() && !talks(profile)) adopt_stream(profile, calls, launches);
}

void name_call(Profile& profile, Activity& kernel, std::uint32_t name) {
  const SaidCollective said(profile.names[name]);
  if (!said.kind) return;
  ProfiledCall call;
  call.collective = said;
  kernel.call = static_cast<std::int32_t>(profile.calls.size());
  profile.calls.push_back(std::move(call));
}

std::vector<Activity*> nameless_kernels(Profile& profile) {
  std::vector<Activity*> kernels;
  for (Activity& activity : profile.activities)
    if (activity.kind == ActivityKind::communication && activity.call < 0 &&
        !collective_of(profile.name_of(activity)))
      kernels.push_back(&activity);
  return kernels;
}

// Kernels that say nothing themselves, and whose calls say no sizes: which collective they are, at least, is in the name of
// what covers them on the GPU, of what started them, or of the call that has their place in the order.
void name_nameless_kernels(Profile& profile, const std::vector<GpuCallSpan>& covers) {
  const auto kernels = nameless_kernels(profile);
  if (kernels.empty()) return;
  const auto calls = gpu_backend_calls(profile);
  const Launches launches(profile);
  std::vector<Activity*> left;
  for (Activity* kernel : kernels) {
    const GpuCallSpan* cover = find_cover(covers, *kernel);
    const Activity* launch = launches.find(*kernel);
    const Activity* around = launch == nullptr ? nullptr : find_around(calls, launch->lane, launch->begin);
    if (cover != nullptr)
      name_call(profile, *kernel, cover->name);
    else if (around != nullptr)
      name_call(profile, *kernel, around->name);
    else
      left.push_back(kernel);
  }
  const auto outer = outermost(calls);
  if (left.size() != outer.size()) return;
  for (std::size_t i = 0; i < left.size(); ++i) name_call(profile, *left[i], outer[i]->name);
}

void link_to_host_calls(Profile& profile) {
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
  const auto ordered = outermost(spans);
  if (unlinked.size() != ordered.size()) return;
  for (std::size_t i = 0; i < unlinked.size(); ++i) unlinked[i]->call = ordered[i]->call;
}

}  // namespace

void link_calls(Profile& profile, std::vector<GpuCallSpan> covers) {
  std::sort(covers.begin(), covers.end(), [](const GpuCallSpan& a, const GpuCallSpan& b) {
    return std::pair(a.lane, a.begin) < std::pair(b.lane, b.begin);
  });
  adopt_nameless_kernels(profile, covers);
  link_to_host_calls(profile);
  name_nameless_kernels(profile, covers);
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
