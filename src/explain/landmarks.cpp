#include "explain/landmarks.h"

#include <algorithm>
#include <set>
#include <string_view>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep";

// How each name reads, found once a name instead of once an event.
enum class Mark { none, step, input, backward, optimizer };

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

Mark mark_of(std::string_view name) {
  if (name.starts_with(kStepPrefix)) return Mark::step;
  if (name.starts_with("autograd::engine::evaluate_function")) return Mark::backward;
  if (name.starts_with("Optimizer.step") || name.starts_with("Optimizer.zero_grad")) return Mark::optimizer;
  if (name.starts_with("enumerate(DataLoader)")) return Mark::input;
  if (!name.starts_with("##") && !name.starts_with("[pl]")) return Mark::none;
  // What people write around the parts of their loops, torchrec's and Lightning's own among them.
  if (holds(name, "backward")) return Mark::backward;
  if (holds(name, "optimizer") || holds(name, "zero_grad")) return Mark::optimizer;
  if (holds(name, "wait_for_batch") || holds(name, "data_load") || holds(name, "load_batch") ||
      holds(name, "dataloader_next"))
    return Mark::input;
  return Mark::none;
}

std::vector<Mark> marks_of(const Profile& profile) {
  std::vector<Mark> marks;
  for (const std::string& name : profile.names) marks.push_back(mark_of(name));
  return marks;
}

int step_number(std::string_view name, int otherwise) {
  const auto hash = name.rfind('#');
  if (hash == std::string_view::npos) return otherwise;
  return find_integer<int>(trim(name.substr(hash + 1))).value_or(otherwise);
}

// Steps may be there twice: as operator and as annotation, or on two threads. The first lane counts.
void add_named_steps(const Profile& profile, const std::vector<Mark>& marks, Landmarks& found) {
  for (const Activity& activity : profile.activities) {
    if (on_gpu(activity.kind) || marks[activity.name] != Mark::step) continue;
    if (!found.main_lane) found.main_lane = activity.lane;
    const auto count = static_cast<int>(found.steps.size());
    if (activity.lane != *found.main_lane || activity.end <= activity.begin) continue;
    if (count > 0 && activity.begin < found.steps.back().window.end) continue;
    found.steps.push_back({{activity.begin, activity.end}, step_number(profile.name_of(activity), count)});
  }
  if (!found.steps.empty()) found.steps_from = kStepPrefix;
}

// A step ends with the optimizer's; of several optimizers the first to come counts.
void add_optimizer_steps(const Profile& profile, Landmarks& found, const Interval& all) {
  std::optional<std::uint32_t> name;
  std::vector<Nanoseconds> ends;
  for (const Activity& activity : profile.activities) {
    if (on_gpu(activity.kind) || !profile.name_of(activity).starts_with("Optimizer.step")) continue;
    if (!name) name = activity.name;
    if (activity.name != *name || (!ends.empty() && activity.begin < ends.back())) continue;
    if (!found.main_lane) found.main_lane = activity.lane;
    ends.push_back(activity.end);
  }
  if (ends.size() < 2) return;
  Nanoseconds begin = all.begin;
  for (const Nanoseconds end : ends) {
    found.steps.push_back({{begin, end}, static_cast<int>(found.steps.size())});
    begin = end;
  }
  found.steps_from = "Optimizer.step";
}

Interval whole_span(const Profile& profile) {
  Interval all{profile.activities.front().begin, profile.activities.front().end};
  for (const Activity& activity : profile.activities) all.end = std::max(all.end, activity.end);
  return all;
}

// Where no step names it: the thread that is busiest with operators.
std::optional<std::int32_t> busiest_lane(const Profile& profile) {
  std::map<std::int32_t, Nanoseconds> busy;
  for (const Activity& activity : profile.activities)
    if (activity.kind == ActivityKind::cpu_op) busy[activity.lane] += activity.end - activity.begin;
  const auto most =
      std::max_element(busy.begin(), busy.end(), [](auto& a, auto& b) { return a.second < b.second; });
  return most == busy.end() ? std::nullopt : std::optional(most->first);
}

void unite_lanes(std::map<std::int32_t, Intervals>& lanes, Intervals& all) {
  for (auto& [lane, set] : lanes) {
    set = united(std::move(set));
    all.insert(all.end(), set.begin(), set.end());
  }
  all = united(std::move(all));
}

}  // namespace

Landmarks find_landmarks(const Profile& profile) {
  Landmarks found;
  const auto marks = marks_of(profile);
  for (const Activity& activity : profile.activities) {
    const Mark mark = on_gpu(activity.kind) ? Mark::none : marks[activity.name];
    const Interval span{activity.begin, activity.end};
    if (mark == Mark::input) found.input.push_back(span);
    if (mark == Mark::backward) found.backward[activity.lane].push_back(span);
    if (mark == Mark::optimizer) found.optimizer[activity.lane].push_back(span);
  }
  found.input = united(std::move(found.input));
  unite_lanes(found.backward, found.any_backward);
  unite_lanes(found.optimizer, found.any_optimizer);
  add_named_steps(profile, marks, found);
  const Interval all = whole_span(profile);
  if (found.steps.empty()) add_optimizer_steps(profile, found, all);
  if (found.steps.empty()) {
    found.steps = {{all, 0}};
    found.steps_from = "the whole trace";
  }
  if (!found.main_lane) found.main_lane = busiest_lane(profile);
  return found;
}

}  // namespace gradwire
