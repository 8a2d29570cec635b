// What Gradwire records itself: the parts of steps are there already, buckets are the collectives.
#include <algorithm>
#include <map>

#include "base/error.h"
#include "explain/analysis.h"

namespace gradwire {
namespace {

Nanoseconds in_nanoseconds(Seconds time) { return static_cast<Nanoseconds>(time * 1e9 + 0.5); }

std::map<Rank, std::vector<RankStep>> steps_by_rank(const Timeline& timeline) {
  std::map<Rank, std::vector<RankStep>> ranks;
  for (const StepParts& step : step_parts(timeline))
    ranks[step.rank].push_back({step.step, {}, {.parts = step.parts}, 0});
  return ranks;
}

// The first step warms up and is left out where there are others, as everywhere in Gradwire.
std::vector<RankStep> without_first(std::vector<RankStep> steps) {
  if (steps.size() > 1) steps.erase(steps.begin());
  return steps;
}

CollectiveSpan span_of_bucket(const Span& bucket, const Intervals& computing, int ranks) {
  CollectiveSpan span;
  span.collective = Collective::all_reduce;
  span.bytes = bucket.bytes;
  span.ranks = ranks;
  span.step = bucket.step;
  span.begin = in_nanoseconds(bucket.begin);
  span.end = in_nanoseconds(bucket.end);
  span.exposed = span.duration() - length(within(computing, {span.begin, span.end}));
  return span;
}

std::vector<CollectiveSpan> bucket_spans(const Timeline& timeline, Rank rank, int first_step) {
  Intervals computing, waiting;
  for (const Span& span : timeline.spans)
    if (span.rank == rank && span.kind != SpanKind::bucket)
      (is_compute(span.kind) ? computing : waiting)
          .push_back({in_nanoseconds(span.begin), in_nanoseconds(span.end)});
  computing = without(united(std::move(computing)), united(std::move(waiting)));
  std::vector<CollectiveSpan> spans;
  for (const Span& span : timeline.spans)
    if (span.rank == rank && span.kind == SpanKind::bucket && span.step >= first_step)
      spans.push_back(span_of_bucket(span, computing, timeline.ranks));
  std::sort(spans.begin(), spans.end(), [](const auto& a, const auto& b) { return a.begin < b.begin; });
  return spans;
}

}  // namespace

RunAnalysis analyze_timeline(const Timeline& timeline, const std::string& file, const Machine* machine) {
  RunAnalysis analysis;
  analysis.world = timeline.ranks;
  StepsOfRanks steps;
  SpansOfRanks spans;
  for (auto& [number, all] : steps_by_rank(timeline)) {
    steps.push_back(without_first(std::move(all)));
    spans.push_back(bucket_spans(timeline, number, steps.back().front().number));
    AnalyzedRank rank;
    rank.file = file;
    rank.steps_from = StepsFrom::record;
    rank.has_backward = true;
    rank.summary.rank = number;
    analysis.ranks.push_back(std::move(rank));
  }
  if (analysis.ranks.empty()) throw ConfigError(fmt::format("{}: a timeline without a step", file));
  finish_analysis(analysis, std::move(steps), spans, machine);
  return analysis;
}

}  // namespace gradwire
