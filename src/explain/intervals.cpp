#include "explain/intervals.h"

#include <algorithm>

namespace gradwire {

Intervals united(Intervals any) {
  std::sort(any.begin(), any.end(), [](const Interval& a, const Interval& b) { return a.begin < b.begin; });
  Intervals set;
  for (const Interval& one : any) {
    if (one.end <= one.begin) continue;
    if (!set.empty() && one.begin <= set.back().end)
      set.back().end = std::max(set.back().end, one.end);
    else
      set.push_back(one);
  }
  return set;
}

Intervals united(const Intervals& a, const Intervals& b) {
  Intervals both = a;
  both.insert(both.end(), b.begin(), b.end());
  return united(std::move(both));
}

Intervals common(const Intervals& a, const Intervals& b) {
  Intervals set;
  for (std::size_t i = 0, j = 0; i < a.size() && j < b.size();) {
    const Nanoseconds begin = std::max(a[i].begin, b[j].begin), end = std::min(a[i].end, b[j].end);
    if (begin < end) set.push_back({begin, end});
    if (a[i].end < b[j].end)
      ++i;
    else
      ++j;
  }
  return set;
}

Intervals without(const Intervals& a, const Intervals& b) {
  Intervals set;
  std::size_t j = 0;
  for (Interval left : a) {
    while (j < b.size() && b[j].end <= left.begin) ++j;
    for (std::size_t k = j; k < b.size() && b[k].begin < left.end; ++k) {
      if (b[k].begin > left.begin) set.push_back({left.begin, b[k].begin});
      left.begin = std::max(left.begin, b[k].end);
      if (left.begin >= left.end) break;
    }
    if (left.begin < left.end) set.push_back(left);
  }
  return set;
}

Intervals within(const Intervals& a, const Interval& window) {
  auto first = std::lower_bound(a.begin(), a.end(), window.begin,
                                [](const Interval& one, Nanoseconds moment) { return one.end <= moment; });
  Intervals set;
  for (; first != a.end() && first->begin < window.end; ++first)
    set.push_back({std::max(first->begin, window.begin), std::min(first->end, window.end)});
  return set;
}

Nanoseconds length(const Intervals& set) {
  Nanoseconds sum = 0;
  for (const Interval& one : set) sum += one.end - one.begin;
  return sum;
}

bool contains(const Intervals& set, Nanoseconds moment) {
  const auto after =
      std::upper_bound(set.begin(), set.end(), moment,
                       [](Nanoseconds value, const Interval& one) { return value < one.begin; });
  return after != set.begin() && moment < std::prev(after)->end;
}

}  // namespace gradwire
