#include "trace/timeline.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr std::array<std::string_view, 7> kNames = {"data", "forward",   "backward", "bucket",
                                                    "wait", "optimizer", "other"};
// About three years; what is beyond was not a run.
constexpr Seconds kLongestTime = 1e8;

bool is_time(Seconds time) { return std::isfinite(time) && std::abs(time) <= kLongestTime; }

// What is wrong with a span, or nothing.
std::string find_fault(const Span& span, int ranks) {
  if (span.rank < 0 || span.rank >= ranks) return fmt::format("rank {} is not one of {}", span.rank, ranks);
  if (span.step < 0) return fmt::format("step {} is negative", span.step);
  if (!is_time(span.begin) || !is_time(span.end) || !is_time(span.ready))
    return fmt::format("a time is no number or beyond {:g} s", kLongestTime);
  if (span.end < span.begin) return fmt::format("its end {} is before its begin {}", span.end, span.begin);
  if (span.kind == SpanKind::bucket && span.bucket < 0) return "a bucket needs its number";
  if (span.kind == SpanKind::bucket && span.ready > span.begin)
    return fmt::format("it begins at {} before it is ready at {}", span.begin, span.ready);
  if (span.kind != SpanKind::bucket && span.rehearsed)
    return "only a bucket can be a call that was rehearsed";
  return {};
}

}  // namespace

std::string_view name_of(SpanKind kind) { return kNames.at(static_cast<std::size_t>(kind)); }

SpanKind parse_span_kind(std::string_view text) {
  for (std::size_t i = 0; i < kNames.size(); ++i)
    if (kNames[i] == text) return static_cast<SpanKind>(i);
  const std::vector<std::string> all(kNames.begin(), kNames.end());
  throw ConfigError(fmt::format("'{:.40}' is not a kind of span: there are {}", text, join(all, ", ")));
}

std::string name_of(const RehearsedCall& call) {
  return fmt::format("rehearsed {}{} among {}", name_of(call.kind), call.user_memory ? ":user" : "",
                     call.group);
}

bool is_rehearsal(const Timeline& timeline) {
  return std::any_of(timeline.spans.begin(), timeline.spans.end(),
                     [](const Span& span) { return span.rehearsed.has_value(); });
}

void check_timeline(const Timeline& timeline) {
  if (timeline.ranks < 1)
    throw ConfigError(fmt::format("a timeline of {} ranks: there must be 1 or more", timeline.ranks));
  for (std::size_t i = 0; i < timeline.spans.size(); ++i)
    if (const auto fault = find_fault(timeline.spans[i], timeline.ranks); !fault.empty())
      throw ConfigError(fmt::format("span {} ({}): {}", i, name_of(timeline.spans[i].kind), fault));
}

}  // namespace gradwire
