#include "trace/breakdown.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <map>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr std::size_t kKinds = 7;

struct Edge {
  Seconds at;
  SpanKind kind;
  int change;  // +1 where a span begins, -1 where one ends
};

// How many spans of each kind cover a moment.
using Cover = std::array<int, kKinds>;

bool any(const Cover& cover, SpanKind kind) { return cover[static_cast<std::size_t>(kind)] > 0; }

// Gives a stretch in which nothing begins or ends to the part it belongs to.
void give(Breakdown& parts, const Cover& cover, Seconds length) {
  const bool busy = any(cover, SpanKind::optimizer) || any(cover, SpanKind::backward) ||
                    any(cover, SpanKind::forward) || any(cover, SpanKind::data) ||
                    any(cover, SpanKind::other);
  const bool moving = any(cover, SpanKind::bucket), waiting = any(cover, SpanKind::wait);
  if (moving && busy && !waiting) parts.comm_overlapped += length;
  if (waiting || (moving && !busy))
    parts.comm_exposed += length;
  else if (any(cover, SpanKind::optimizer))
    parts.optimizer += length;
  else if (any(cover, SpanKind::backward))
    parts.backward += length;
  else if (any(cover, SpanKind::forward))
    parts.forward += length;
  else if (any(cover, SpanKind::data))
    parts.data += length;
  else
    parts.other += length;
}

struct Bounds {
  Seconds begin, end;
};

Breakdown parts_of(const std::vector<const Span*>& spans, Bounds bounds) {
  std::vector<Edge> edges;
  for (const Span* span : spans) {
    const Seconds begin = std::clamp(span->begin, bounds.begin, bounds.end);
    const Seconds end = std::clamp(span->end, bounds.begin, bounds.end);
    edges.push_back({begin, span->kind, 1});
    edges.push_back({end, span->kind, -1});
  }
  std::sort(edges.begin(), edges.end(), [](const Edge& a, const Edge& b) { return a.at < b.at; });
  Breakdown parts;
  Cover cover{};
  Seconds at = bounds.begin;
  for (const Edge& edge : edges) {
    give(parts, cover, edge.at - at);
    cover[static_cast<std::size_t>(edge.kind)] += edge.change;
    at = edge.at;
  }
  give(parts, cover, bounds.end - at);
  return parts;
}

Bounds extent(const std::vector<const Span*>& spans) {
  Bounds bounds{INFINITY, -INFINITY};
  for (const Span* span : spans) {
    bounds.begin = std::min(bounds.begin, span->begin);
    bounds.end = std::max(bounds.end, span->end);
  }
  return bounds;
}

Breakdown operator*(const Breakdown& parts, double factor) {
  return {parts.data * factor,         parts.forward * factor,
          parts.backward * factor,     parts.comm_overlapped * factor,
          parts.comm_exposed * factor, parts.optimizer * factor,
          parts.other * factor};
}

Breakdown operator+(const Breakdown& a, const Breakdown& b) {
  return {a.data + b.data,
          a.forward + b.forward,
          a.backward + b.backward,
          a.comm_overlapped + b.comm_overlapped,
          a.comm_exposed + b.comm_exposed,
          a.optimizer + b.optimizer,
          a.other + b.other};
}

}  // namespace

double Breakdown::hidden_share() const {
  const Seconds all = comm_overlapped + comm_exposed;
  return all > 0 ? comm_overlapped / all : 1;
}

std::vector<StepParts> step_parts(const Timeline& timeline) {
  std::map<std::pair<Rank, int>, std::vector<const Span*>> steps;
  for (const Span& span : timeline.spans) steps[{span.rank, span.step}].push_back(&span);
  std::vector<StepParts> all;
  for (auto step = steps.begin(); step != steps.end(); ++step) {
    Bounds bounds = extent(step->second);
    const auto next = std::next(step);
    if (next != steps.end() && next->first.first == step->first.first)
      if (const Seconds begin = extent(next->second).begin; begin > bounds.begin) bounds.end = begin;
    all.push_back({step->first.first, step->first.second, parts_of(step->second, bounds)});
  }
  return all;
}

std::optional<Breakdown> median_step(const std::vector<StepParts>& steps) {
  if (steps.empty()) return std::nullopt;
  std::vector<Breakdown> sorted;
  for (const auto& step : steps) sorted.push_back(step.parts);
  std::stable_sort(sorted.begin(), sorted.end(),
                   [](const Breakdown& a, const Breakdown& b) { return a.step() < b.step(); });
  const std::size_t count = sorted.size();
  const Seconds median = (sorted[(count - 1) / 2].step() + sorted[count / 2].step()) / 2;
  const std::size_t cut = count / 4;  // off each end: what stays is the middle half
  Breakdown sum;
  for (std::size_t i = cut; i < count - cut; ++i) sum = sum + sorted[i];
  return sum.step() > 0 ? sum * (median / sum.step()) : sum;
}

Breakdown breakdown(const Timeline& timeline) {
  auto steps = step_parts(timeline);
  if (steps.empty()) throw ConfigError(fmt::format("{}: a timeline without a step", timeline.source));
  std::map<Rank, int> first;
  for (const auto& step : steps) first.try_emplace(step.rank, step.step);
  if (steps.size() > first.size())
    std::erase_if(steps, [&](const auto& step) { return step.step == first[step.rank]; });
  return *median_step(steps);
}

}  // namespace gradwire
