#include "explain/landmarks.h"

#include <algorithm>
#include <cctype>
#include <string_view>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::string_view kStepPrefix = "ProfilerStep";

// How each name reads, found once a name instead of once an event.
enum class Mark { none, step, input, backward, optimizer };

bool holds(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

// "AddmmBackward", "MeanBackward1", "torch::autograd::AccumulateGrad": what autograd runs, by the names it had before
// it wrote evaluate_function around them.
bool is_gradient_node(std::string_view name) {
  if (name.starts_with("torch::autograd::")) return true;
  while (!name.empty() && name.back() >= '0' && name.back() <= '9') name.remove_suffix(1);
  return name.ends_with("Backward") && !holds(name, ":") && !holds(name, ".");
}

Mark mark_of(std::string_view name, bool old_autograd) {
  if (name.starts_with(kStepPrefix)) return Mark::step;
  if (name.starts_with("autograd::engine::evaluate_function")) return Mark::backward;
  if (old_autograd && is_gradient_node(name)) return Mark::backward;
  if (name.starts_with("Optimizer.step") || name.starts_with("Optimizer.zero_grad")) return Mark::optimizer;
  return name.starts_with("enumerate(DataLoader)") ? Mark::input : Mark::none;
}

// What people write around the parts of their loops, torchrec's and Lightning's own among them.
Mark mark_of_annotation(std::string name) {
  std::transform(name.begin(), name.end(), name.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  if (holds(name, "backward") && !holds(name, "forward")) return Mark::backward;
  if (holds(name, "zero_grad") || holds(name, "optimizer") || holds(name, "optim_step"))
    return Mark::optimizer;
  constexpr std::string_view kInput[] = {"wait_for_batch", "data_load",  "dataload",   "load_batch",
                                         "load_data",      "next_batch", "fetch_data", "data_fetch",
                                         "fetch_batch",    "get_batch"};
  const auto said = [&](auto word) { return holds(name, word); };
  return std::any_of(std::begin(kInput), std::end(kInput), said) ? Mark::input : Mark::none;
}

struct NameMarks {
  Mark any = Mark::none;         // whatever bears the name
  Mark annotation = Mark::none;  // a span that somebody wrote into the loop
};

std::vector<NameMarks> marks_of(const Profile& profile) {
  const bool new_autograd = std::any_of(profile.names.begin(), profile.names.end(), [](const auto& name) {
    return name.starts_with("autograd::engine::evaluate_function");
  });
  std::vector<NameMarks> marks;
  for (const std::string& name : profile.names) {
    const Mark known = mark_of(name, !new_autograd);
    const Mark written = known == Mark::none ? mark_of_annotation(name) : known;
    const bool surely_written = name.starts_with("##") || name.starts_with("[pl]");
    marks.push_back({surely_written ? written : known, written});
  }
  return marks;
}

Mark mark_in(const std::vector<NameMarks>& marks, const Activity& activity) {
  if (on_gpu(activity.kind)) return Mark::none;
  const NameMarks& mark = marks[activity.name];
  return activity.kind == ActivityKind::annotation ? mark.annotation : mark.any;
}

int step_number(std::string_view name, int otherwise) {
  const auto hash = name.rfind('#');
  if (hash == std::string_view::npos) return otherwise;
  return find_integer<int>(trim(name.substr(hash + 1))).value_or(otherwise);
}

// Times of steps that follow each other are rounded: the next may seem to begin before the last one's end. What is there
// twice covers the other instead.
bool touches(const Interval& last, const Interval& next) {
  const Nanoseconds shorter = std::min(last.end - last.begin, next.end - next.begin);
  return next.begin > last.begin && next.end > last.end && (last.end - next.begin) * 100 < shorter;
}

// Steps may be there twice: as operator and as annotation, or on two threads. The first lane counts.
void add_named_steps(const Profile& profile, const std::vector<NameMarks>& marks, Landmarks& found) {
  for (const Activity& activity : profile.activities) {
    if (mark_in(marks, activity) != Mark::step) continue;
    if (!found.main_lane) found.main_lane = activity.lane;
    const auto count = static_cast<int>(found.steps.size());
    if (activity.lane != *found.main_lane || activity.end <= activity.begin) continue;
    const Interval window{activity.begin, activity.end};
    if (count > 0 && !touches(found.steps.back().window, window)) continue;
    if (count > 0) found.steps.back().window.end = std::min(found.steps.back().window.end, activity.begin);
    found.steps.push_back({window, step_number(profile.name_of(activity), count)});
  }
  if (!found.steps.empty()) found.steps_from = StepsFrom::profiler;
}

// A step ends with the optimizer's; of several optimizers the first to come counts.
std::vector<Nanoseconds> optimizer_ends(const Profile& profile, Landmarks& found) {
  std::optional<std::uint32_t> name;
  std::vector<Nanoseconds> ends;
  for (const Activity& activity : profile.activities) {
    if (on_gpu(activity.kind) || !profile.name_of(activity).starts_with("Optimizer.step")) continue;
    if (!name) name = activity.name;
    if (activity.name != *name || (!ends.empty() && activity.begin < ends.back())) continue;
    if (!found.main_lane) found.main_lane = activity.lane;
    ends.push_back(activity.end);
  }
  return ends;
}

// Nothing says where the first step begins, so it is left out where two whole ones are there without it.
void add_optimizer_steps(const Profile& profile, Landmarks& found, Nanoseconds begin) {
  const auto ends = optimizer_ends(profile, found);
  if (ends.size() < 2) return;
  found.first_left_out = ends.size() > 2;
  for (const Nanoseconds end : ends) {
    if (end != ends.front() || !found.first_left_out)
      found.steps.push_back({{begin, end}, static_cast<int>(found.steps.size())});
    begin = end;
  }
  found.steps_from = StepsFrom::optimizer;
}

Interval whole_span(const Profile& profile) {
  Interval all{profile.activities.front().begin, profile.activities.front().end};
  for (const Activity& activity : profile.activities) all.end = std::max(all.end, activity.end);
  return all;
}

// What ran on the GPU, by the call that started it; by its begin where the trace does not tell that.
struct Started {
  Nanoseconds call = 0, begin = 0, end = 0;
};

std::vector<Started> started_on_gpu(const Profile& profile) {
  const Launches launches(profile);
  std::vector<Started> all;
  for (const Activity& activity : profile.activities) {
    if (!on_gpu(activity.kind)) continue;
    const Activity* launch = launches.find(activity);
    const Nanoseconds call = launch == nullptr ? activity.begin : std::min(launch->begin, activity.begin);
    all.push_back({call, activity.begin, activity.end});
  }
  std::sort(all.begin(), all.end(), [](const Started& a, const Started& b) { return a.call < b.call; });
  return all;
}

// A program may also put its model on the GPU and only then wait for what it learns from. Nothing is launched for long
// then, once, before the first backward; without any, among the first of all that is launched.
std::size_t first_of_loop(const std::vector<Started>& all, const Intervals& backward) {
  constexpr Nanoseconds kSetUp = 100'000'000;
  const auto before_backward = std::count_if(all.begin(), all.end(), [&](const Started& one) {
    return !backward.empty() && one.call < backward.front().begin;
  });
  const std::size_t limit = backward.empty() ? all.size() / 10 : static_cast<std::size_t>(before_backward);
  std::size_t first = 0;
  Nanoseconds longest = kSetUp, later = 0;
  for (std::size_t i = 1; i < all.size(); ++i) {
    const Nanoseconds pause = all[i].call - all[i - 1].call;
    if (i < limit && pause > longest) {
      first = i;
      longest = pause;
      later = 0;
    } else {
      later = std::max(later, pause);
    }
  }
  return longest > 2 * later ? first : 0;
}

// What a program does before its loop is set-up, and so is the wait for its first batch if there are others: a loader's
// workers start then.
void add_unmarked_steps(const Profile& profile, Landmarks& found) {
  Interval all = whole_span(profile);
  if (const auto work = started_on_gpu(profile); !work.empty()) {
    const Started& first = work[first_of_loop(work, found.any_backward)];
    all = {first.call, first.end};
    for (const Started& one : work) all.end = std::max(all.end, one.end);
    found.gpu_begins = first.begin;
    if (found.input.size() == 1 && found.input[0].begin < all.begin)
      all.begin = found.gpu_begins = found.input[0].begin;
  }
  add_optimizer_steps(profile, found, all.begin);
  if (found.steps.empty()) found.steps = {{all, 0}};
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

// The stretches of backward that begin inside a span.
Intervals begun_inside(const Intervals& backward, const Interval& span) {
  const auto begins_before = [](const Interval& one, Nanoseconds moment) { return one.begin < moment; };
  const auto first = std::lower_bound(backward.begin(), backward.end(), span.begin + 1, begins_before);
  return {first, std::lower_bound(first, backward.end(), span.end, begins_before)};
}

// A closure runs forward and backward inside of the optimizer's step (Lightning, LBFGS): only what comes after the
// last backward is the optimizer's. A loader does not run backward: such a span is an epoch's.
void cut_to_what_they_mark(Landmarks& found) {
  for (auto& [lane, spans] : found.optimizer)
    for (Interval& span : spans)
      if (const auto inside = begun_inside(found.any_backward, span); !inside.empty())
        span.begin = std::min(inside.back().end, span.end);
  std::erase_if(found.input,
                [&](const Interval& span) { return !begun_inside(found.any_backward, span).empty(); });
}

}  // namespace

std::string_view to_string(StepsFrom from) {
  switch (from) {
    case StepsFrom::profiler:
      return kStepPrefix;
    case StepsFrom::optimizer:
      return "Optimizer.step";
    case StepsFrom::whole_trace:
      return "the whole trace";
    case StepsFrom::record:
      return "recorded";
  }
  return "";
}

Landmarks find_landmarks(const Profile& profile) {
  Landmarks found;
  const auto marks = marks_of(profile);
  for (const Activity& activity : profile.activities) {
    const Mark mark = mark_in(marks, activity);
    const Interval span{activity.begin, activity.end};
    if (mark == Mark::input) found.input.push_back(span);
    if (mark == Mark::backward) found.backward[activity.lane].push_back(span);
    if (mark == Mark::optimizer) found.optimizer[activity.lane].push_back(span);
  }
  unite_lanes(found.backward, found.any_backward);
  cut_to_what_they_mark(found);
  found.input = united(std::move(found.input));
  unite_lanes(found.optimizer, found.any_optimizer);
  add_named_steps(profile, marks, found);
  if (found.steps.empty()) add_unmarked_steps(profile, found);
  if (!found.main_lane) found.main_lane = busiest_lane(profile);
  return found;
}

}  // namespace gradwire
