#include "explain/odd_steps.h"

#include <algorithm>

namespace gradwire {
namespace {

constexpr std::size_t kEnoughToTell = 3;
// Less than half a step more, in one of three steps or more, is less than what a verdict needs.
constexpr double kMuchLonger = 0.5;

using Steps = std::vector<RankStep>;

template <typename Value>
Value middle_of(const Steps& steps, Value (*of)(const RankStep&)) {
  std::vector<Value> values;
  for (const RankStep& step : steps) values.push_back(of(step));
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

Seconds length_of(const RankStep& step) { return step.shares.step(); }
Seconds optimizer_of(const RankStep& step) { return step.shares.parts.optimizer; }
int calls_of(const RankStep& step) { return step.calls; }

// What most steps do: a step that does more is of another kind.
struct UsualStep {
  Seconds length, optimizer;
  int calls;
};

bool updates_alone(const RankStep& step, const UsualStep& usual) {
  return usual.optimizer <= 0 && optimizer_of(step) > 0;
}
bool sends_more(const RankStep& step, const UsualStep& usual) { return step.calls > usual.calls; }
bool never(const RankStep&, const UsualStep&) { return false; }

struct Spent {
  std::string_view does;
  Seconds (*time)(const RankStep&);
  bool (*has_reason)(const RankStep&, const UsualStep&);
};

constexpr Spent kSpent[] = {
    {"waits for its input", [](const RankStep& step) { return step.shares.parts.data; }, never},
    {"copies", [](const RankStep& step) { return step.shares.copies; }, updates_alone},
    {"is idle", [](const RankStep& step) { return step.shares.idle; }, updates_alone},
    {"computes", [](const RankStep& step) { return step.shares.computing() - step.shares.parts.optimizer; },
     updates_alone},
    {"communicates", [](const RankStep& step) { return step.shares.parts.comm_exposed; }, sends_more}};

// The one step that spends much more on it than the next, if there is such.
const RankStep* find_longest(const Steps& steps, const Spent& spent, const UsualStep& usual) {
  const RankStep* most = nullptr;
  Seconds next = 0;
  for (const RankStep& step : steps) {
    if (most == nullptr || spent.time(step) > spent.time(*most)) {
      if (most != nullptr) next = std::max(next, spent.time(*most));
      most = &step;
    } else {
      next = std::max(next, spent.time(step));
    }
  }
  const bool odd = spent.time(*most) - next > kMuchLonger * usual.length;
  return odd && !spent.has_reason(*most, usual) ? most : nullptr;
}

void add_odd_steps(const Steps& steps, std::vector<OddStep>& odd) {
  if (steps.size() < kEnoughToTell) return;
  const UsualStep usual{middle_of(steps, length_of), middle_of(steps, optimizer_of),
                        middle_of(steps, calls_of)};
  for (const Spent& spent : kSpent) {
    const RankStep* step = find_longest(steps, spent, usual);
    if (step != nullptr && !is_odd(odd, step->number))
      odd.push_back({step->number, length_of(*step), usual.length, spent.does});
  }
}

}  // namespace

bool is_odd(const std::vector<OddStep>& odd, int step) {
  return std::any_of(odd.begin(), odd.end(), [&](const OddStep& one) { return one.number == step; });
}

std::vector<RankStep> without_odd(std::vector<RankStep> steps, const std::vector<OddStep>& odd) {
  std::erase_if(steps, [&](const RankStep& step) { return is_odd(odd, step.number); });
  return steps;
}

std::vector<OddStep> find_odd_steps(const std::vector<std::vector<RankStep>>& ranks) {
  std::vector<OddStep> odd;
  for (const Steps& steps : ranks) add_odd_steps(steps, odd);
  const bool few_left = std::any_of(ranks.begin(), ranks.end(), [&](const Steps& steps) {
    const std::size_t left = without_odd(steps, odd).size();
    return left < 2 || left * 2 < steps.size();
  });
  if (few_left) return {};
  std::sort(odd.begin(), odd.end(), [](const OddStep& a, const OddStep& b) { return a.number < b.number; });
  return odd;
}

}  // namespace gradwire
