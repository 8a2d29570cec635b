#include "explain/analysis.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <set>

#include "explain/traced_run.h"

namespace gradwire {
namespace {

constexpr int kEnoughSteps = 3;

// Of steps without any call too: they waited for nobody.
Seconds middle_wait(const std::map<int, Nanoseconds>& by_step, int steps) {
  std::vector<Nanoseconds> waits;
  for (const auto& [step, wait] : by_step) waits.push_back(wait);
  waits.resize(std::max(waits.size(), static_cast<std::size_t>(steps)), 0);
  const auto middle = waits.begin() + static_cast<std::ptrdiff_t>(waits.size() / 2);
  std::nth_element(waits.begin(), middle, waits.end());
  return static_cast<Seconds>(*middle) * 1e-9;
}

// Exposed waiting of a step, and how often each rank came last, weighted by what it cost the others.
void add_waiting(const SpansOfRanks& spans, std::vector<AnalyzedRank>& ranks) {
  Nanoseconds all = 0;
  for (const auto& rank : spans)
    for (const CollectiveSpan& span : rank) all += span.counts ? span.caused : 0;
  std::map<int, Nanoseconds> of_all;
  int most_steps = 0;
  for (std::size_t i = 0; i < spans.size(); ++i) {
    Nanoseconds waited = 0, caused = 0;
    std::map<int, Nanoseconds> by_step;
    for (const CollectiveSpan& span : spans[i]) {
      if (!span.counts) continue;
      waited += std::min(span.wait(), span.exposed);
      by_step[span.step] += std::min(span.wait(), span.exposed);
      of_all[span.step] += std::min(span.wait(), span.exposed);
      caused += span.caused;
    }
    const int steps = ranks[i].usual_steps;
    most_steps = std::max(most_steps, steps);
    ranks[i].summary.wait = static_cast<Seconds>(waited) * 1e-9 / std::max(1, steps);
    if (steps >= kEnoughSteps) ranks[i].summary.usual_wait = middle_wait(by_step, steps);
    ranks[i].summary.last_share = all > 0 ? static_cast<double>(caused) / static_cast<double>(all) : 0;
  }
  if (most_steps < kEnoughSteps) return;
  const Seconds usual = middle_wait(of_all, most_steps) / static_cast<double>(spans.size());
  for (AnalyzedRank& rank : ranks) rank.summary.usual_wait_of_all = usual;
}

// The rank that comes last to a step waits for nobody: what of its all-reduces nothing hides is what other links change.
// Others have more that is no waiting either, for they were done computing before it.
void tell_transfer(const SpansOfRanks& spans, RunAnalysis& analysis) {
  std::map<int, Nanoseconds> least;
  bool matched = true;
  for (const auto& rank : spans) {
    std::map<int, Nanoseconds> own;
    for (const CollectiveSpan& span : rank) {
      if (!span.counts || span.collective.kind != Collective::all_reduce) continue;
      own[span.step] += span.exposed - std::min(span.wait(), span.exposed);
      matched = matched && span.transfer;
    }
    for (const auto& [step, exposed] : own) {
      const auto [known, fresh] = least.try_emplace(step, exposed);
      if (!fresh) known->second = std::min(known->second, exposed);
    }
  }
  Nanoseconds sum = 0;
  for (const auto& [step, exposed] : least) sum += exposed;
  int steps = 1;
  for (const AnalyzedRank& rank : analysis.ranks) steps = std::max(steps, rank.usual_steps);
  analysis.exposed_transfer = std::min(static_cast<Seconds>(sum) * 1e-9 / steps, mean_exposed(analysis));
  const auto here = static_cast<int>(spans.size());
  analysis.waiting_known = analysis.world.value_or(here) <= here && (here == 1 || matched);
}

// A run on several nodes may have groups that stay inside of one (tensor parallelism). `here` are the GPUs of a node; ranks
// fill one node after the other.
bool stays_in_nodes(const std::vector<CollectiveRow>& rows, int here) {
  Seconds inside = 0, all = 0;
  for (const CollectiveRow& row : rows) {
    const bool near = here > 0 && row.members && row.members->first / here == row.members->last / here;
    if (near) inside += row.exposed;
    all += row.exposed;
  }
  return inside > 0.5 * all;
}

void add_expectations(std::vector<CollectiveRow>& rows, const Machine& machine) {
  for (CollectiveRow& row : rows)
    if (const auto expected = find_expected_rate(machine, row.collective.kind, row.bytes, row.ranks))
      row.expected_busbw_gbps = expected->busbw_gbps;
}

void note_odd_steps(RunAnalysis& analysis) {
  for (const OddStep& odd : analysis.odd_steps)
    analysis.notes.push_back(fmt::format(
        "step {} is unlike the others: it {} and takes {:.1f} ms, where {:.1f} are usual; it is left out",
        odd.number, odd.does, odd.length * 1e3, odd.usual * 1e3));
}

Seconds spread_of(const std::vector<RankStep>& steps) {
  if (static_cast<int>(steps.size()) < kEnoughSteps) return 0;
  std::vector<Seconds> lengths;
  for (const RankStep& step : steps) lengths.push_back(step.shares.step());
  std::sort(lengths.begin(), lengths.end());
  return lengths[lengths.size() * 3 / 4] - lengths[lengths.size() / 4];
}

std::optional<Breakdown> typical_step(const std::vector<RankStep>& steps) {
  if (static_cast<int>(steps.size()) < kEnoughSteps) return std::nullopt;
  std::vector<StepParts> parts;
  for (const RankStep& step : steps) parts.push_back({0, step.number, step.shares.parts});
  return median_step(parts);
}

void count_calls(std::vector<RankStep>& steps, const std::vector<CollectiveSpan>& spans) {
  std::map<int, int> calls;
  for (const CollectiveSpan& span : spans) ++calls[span.step];
  for (RankStep& step : steps) step.calls = calls[step.number];
}

// Calls outside of steps, and in odd ones, are of no step that counts.
void mark_what_counts(std::vector<CollectiveSpan>& spans, const std::vector<RankStep>& usual) {
  std::set<int> numbers;
  for (const RankStep& step : usual) numbers.insert(step.number);
  for (CollectiveSpan& span : spans) span.counts = numbers.contains(span.step);
}

void sum_up(AnalyzedRank& rank, const std::vector<RankStep>& all, const std::vector<RankStep>& usual) {
  rank.steps = static_cast<int>(all.size());
  rank.usual_steps = static_cast<int>(usual.size());
  rank.summary.mean = mean_of(usual);
  rank.summary.varies = spread_of(usual);
  rank.summary.typical = typical_step(usual);
}

template <typename Of>
Seconds mean_of_ranks(const RunAnalysis& analysis, Of of) {
  Seconds sum = 0;
  for (const AnalyzedRank& rank : analysis.ranks) sum += of(rank.summary.mean);
  return sum / static_cast<double>(analysis.ranks.size());
}

}  // namespace

void finish_analysis(RunAnalysis& analysis, StepsOfRanks steps, SpansOfRanks& spans, const Machine* machine) {
  for (std::size_t i = 0; i < steps.size(); ++i) count_calls(steps[i], spans[i]);
  analysis.odd_steps = find_odd_steps(steps);
  note_odd_steps(analysis);
  double counted = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const auto usual = without_odd(steps[i], analysis.odd_steps);
    sum_up(analysis.ranks[i], steps[i], usual);
    mark_what_counts(spans[i], usual);
    counted += static_cast<double>(usual.size());
  }
  match_collectives(spans);
  add_waiting(spans, analysis.ranks);
  tell_transfer(spans, analysis);
  analysis.collectives = collective_rows(spans, counted / static_cast<double>(analysis.ranks.size()));
  if (machine != nullptr) add_expectations(analysis.collectives, *machine);
  std::sort(analysis.ranks.begin(), analysis.ranks.end(),
            [](const auto& a, const auto& b) { return a.summary.rank < b.summary.rank; });
  std::vector<RankSummary> summaries;
  for (const AnalyzedRank& rank : analysis.ranks) summaries.push_back(rank.summary);
  const bool near =
      analysis.reach == Reach::several_nodes && stays_in_nodes(analysis.collectives, analysis.gpus_of_node);
  analysis.verdict = judge_ranks(summaries, near ? Reach::one_node : analysis.reach);
}

Seconds mean_step(const RunAnalysis& analysis) {
  return mean_of_ranks(analysis, [](const StepShares& step) { return step.step(); });
}

Seconds mean_exposed(const RunAnalysis& analysis) {
  return mean_of_ranks(analysis, [](const StepShares& step) { return step.parts.comm_exposed; });
}

Seconds mean_optimizer(const RunAnalysis& analysis) {
  return mean_of_ranks(analysis, [](const StepShares& step) { return step.parts.optimizer; });
}

}  // namespace gradwire
