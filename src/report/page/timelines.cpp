#include "report/page/timelines.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <map>
#include <tuple>

namespace gradwire {
namespace {

constexpr int kLanesOfRank = 2;  // compute and communication

double whole_ns(Seconds time) { return std::round(time * 1e9); }

// Steps below this fit with all their ranks.
int first_step_left_out(const Timeline& timeline, std::size_t most) {
  std::map<int, std::size_t> spans_of;
  for (const Span& span : timeline.spans) ++spans_of[span.step];
  std::size_t sum = 0;
  for (const auto& [step, count] : spans_of)
    if ((sum += count) > most) return step;
  return spans_of.empty() ? 0 : spans_of.rbegin()->first + 1;
}

int index_of(std::map<std::string, int>& known, std::vector<std::string>& names, const std::string& name) {
  const auto [found, is_new] = known.emplace(name, static_cast<int>(names.size()));
  if (is_new) names.push_back(name);
  return found->second;
}

}  // namespace

void sort_spans(DrawnTimeline& timeline) {
  std::ranges::stable_sort(timeline.spans, {},
                           [](const DrawnSpan& span) { return std::tuple(span.lane, span.begin_ns); });
}

FittedTimeline drawn_timeline(const Timeline& timeline, std::string name, Origin origin, std::size_t most) {
  FittedTimeline fitted;
  DrawnTimeline& drawn = fitted.timeline;
  drawn.name = std::move(name);
  drawn.predicted = origin == Origin::predicted;
  drawn.world = timeline.ranks;
  for (int rank = 0; rank < timeline.ranks; ++rank) {
    drawn.lanes.push_back({rank, "compute"});
    drawn.lanes.push_back({rank, "communication"});
  }
  std::map<std::string, int> kinds, names;
  const int end = first_step_left_out(timeline, most);
  for (const Span& span : timeline.spans) {
    if (span.step >= end) continue;
    const bool bucket = span.kind == SpanKind::bucket;
    const std::string kind(name_of(span.kind));
    DrawnSpan one;
    one.lane = kLanesOfRank * span.rank + (bucket ? 1 : 0);
    one.kind = index_of(kinds, drawn.kinds, kind);
    one.name = index_of(names, drawn.names, span.name.empty() ? kind : span.name);
    one.step = span.step;
    one.begin_ns = whole_ns(span.begin);
    one.duration_ns = whole_ns(span.end) - one.begin_ns;
    if (bucket) {
      one.bytes = static_cast<double>(span.bytes);
      one.ready_ns = whole_ns(span.ready);
    }
    drawn.spans.push_back(one);
  }
  sort_spans(drawn);
  if (drawn.spans.size() < timeline.spans.size())
    fitted.note =
        fmt::format("The timeline shows the first {} of {} spans: a page of all of them would be slow.",
                    drawn.spans.size(), timeline.spans.size());
  return fitted;
}

}  // namespace gradwire
