#include "explain/analysis.h"

#include <algorithm>
#include <map>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "explain/traced_run.h"

namespace gradwire {
namespace {

using Profiles = std::vector<const Profile*>;

Nanoseconds last_end(const Profile& profile) {
  Nanoseconds last = profile.activities.front().end;
  for (const Activity& activity : profile.activities) last = std::max(last, activity.end);
  return last;
}

// "gpu7_2314.1700000009.pt.trace.json", as tensorboard_trace_handler names it: whose trace, and when it was written.
struct TraceName {
  std::string process;
  std::uint64_t written = 0;
};

std::optional<TraceName> find_trace_name(const std::string& file) {
  const auto suffix = file.rfind(".pt.trace.json");
  const auto dot = suffix == std::string::npos ? suffix : file.rfind('.', suffix - 1);
  if (dot == std::string::npos || dot + 1 >= suffix) return std::nullopt;
  const auto written = find_integer<std::uint64_t>(std::string_view(file).substr(dot + 1, suffix - dot - 1));
  return written ? std::optional(TraceName{file.substr(0, dot), *written}) : std::nullopt;
}

// Ranks of a run are traced at the same time: what says no rank and comes after another is of the same process, unless
// its host is another. Clocks that begin with each trace tell nothing; then the names of files may.
bool is_later_window(const Profile& later, const Profile& first) {
  if (later.rank != first.rank) return false;
  const bool after = later.activities.front().begin >= last_end(first);
  if (later.rank) return after;
  const bool elsewhere = !later.host.empty() && !first.host.empty() && later.host != first.host;
  const auto one = find_trace_name(later.file), other = find_trace_name(first.file);
  const bool written_after = one && other && one->process == other->process && one->written > other->written;
  return !elsewhere && (after || written_after);
}

// A schedule that repeats leaves several traces of a rank, one after the other: the first of each is taken.
Profiles first_windows(const std::vector<Profile>& given, std::vector<std::string>& notes) {
  Profiles first;
  for (const Profile& profile : given) {
    const bool later = std::any_of(given.begin(), given.end(),
                                   [&](const Profile& other) { return is_later_window(profile, other); });
    if (!later) first.push_back(&profile);
  }
  if (first.size() < given.size())
    notes.push_back(
        fmt::format("{} traces are later ones of ranks that are there already: the first of each is taken",
                    given.size() - first.size()));
  return first;
}

// Ranks as the traces say; those that say nothing, or say the same, are numbered in the order given.
std::vector<int> numbered_ranks(const Profiles& profiles, std::vector<std::string>& notes) {
  std::set<int> taken;
  std::vector<int> ranks;
  bool unsaid = false, twice = false;
  for (const Profile* profile : profiles) {
    const bool fresh = profile->rank && taken.insert(*profile->rank).second;
    unsaid = unsaid || !profile->rank;
    twice = twice || (profile->rank && !fresh);
    ranks.push_back(fresh ? *profile->rank : -1);
  }
  int next = 0;
  for (int& rank : ranks) {
    if (rank >= 0) continue;
    while (!taken.insert(next).second) ++next;
    rank = next;
  }
  if (unsaid && profiles.size() > 1)
    notes.push_back("not every trace says its rank: those are numbered in the order given");
  if (twice) notes.push_back("several traces say they are the same rank: the later ones are numbered anew");
  return ranks;
}

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

Reach reach_of(const Profiles& profiles, const PlaceOfRun& place) {
  if (place.nodes.nodes > 0) return place.nodes.nodes > 1 ? Reach::several_nodes : Reach::one_node;
  std::set<std::string> hosts;
  int world = 0, here = 0, placed = 0;
  for (const Profile* profile : profiles) {
    if (!profile->host.empty()) hosts.insert(profile->host);
    placed += !profile->host.empty();
    world = std::max(world, profile->world.value_or(0));
    here = std::max(here, gpus_of_node(*profile));
  }
  if (hosts.size() > 1) return Reach::several_nodes;
  // A machine may be one node of several: what describes it was saved on one.
  if (const Machine* machine = place.machine)
    return machine->nodes > 1 || world > static_cast<int>(machine->gpus.size()) ? Reach::several_nodes
                                                                                : Reach::one_node;
  if (hosts.size() == 1 && world > 1 && placed >= world) return Reach::one_node;
  // A process usually sees all GPUs of its node; one that sees a single one may have been given only that.
  if (world < 2 || here < 2) return Reach::unknown;
  return world <= here ? Reach::one_node : Reach::several_nodes;
}

int gpus_of_a_node(const Profiles& profiles, const PlaceOfRun& place) {
  if (place.nodes.gpus_each > 0) return place.nodes.gpus_each;
  if (const Machine* machine = place.machine)
    return static_cast<int>(machine->gpus.size()) / std::max(1, machine->nodes);
  int most = 0;
  for (const Profile* profile : profiles) most = std::max(most, gpus_of_node(*profile));
  return most;
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

void note_what_is_missing(RunAnalysis& analysis, const Profiles& profiles) {
  for (const Profile* profile : profiles)
    for (const std::string& note : profile->notes) analysis.notes.push_back(profile->file + ": " + note);
  const auto given = static_cast<int>(profiles.size());
  if (analysis.world && *analysis.world > given)
    analysis.notes.push_back(fmt::format(
        "{} of {} ranks are here: {}", given, *analysis.world,
        given == 1 ? "waiting for other ranks can't be told from transfer, so rates are lower bounds"
                   : "waiting is counted among these alone"));
  if (std::any_of(analysis.ranks.begin(), analysis.ranks.end(),
                  [](const AnalyzedRank& rank) { return rank.summary.calls_unseen; }))
    analysis.notes.emplace_back(
        "collectives were called and no kernel of theirs is in the trace: where the GPU is idle with work "
        "queued, the "
        "verdict takes it for theirs");
  for (const AnalyzedRank& rank : analysis.ranks)
    if (rank.steps_from == StepsFrom::optimizer || rank.steps_from == StepsFrom::whole_trace) {
      analysis.notes.push_back(
          fmt::format("no ProfilerStep in the trace: steps are taken from {}{}", to_string(rank.steps_from),
                      rank.first_left_out ? ", the first left out, whose begin is not known" : ""));
      break;
    }
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

AnalyzedRank analyzed_rank(const Profile& profile, const RankSteps& found, int number) {
  AnalyzedRank rank;
  rank.file = profile.file;
  rank.gpu = found.gpu;
  rank.steps_from = found.marks.steps_from;
  rank.first_left_out = found.marks.first_left_out;
  rank.has_backward = !found.marks.any_backward.empty();
  rank.summary.rank = number;
  rank.summary.on_gpu = found.on_gpu;
  rank.summary.names_input = found.names_input;
  rank.summary.gpu_unseen = found.gpu_unseen;
  rank.summary.calls_unseen = found.calls_unseen;
  return rank;
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
  Seconds sum = 0;
  for (const AnalyzedRank& rank : analysis.ranks) sum += rank.summary.mean.step();
  return sum / static_cast<double>(analysis.ranks.size());
}

Seconds mean_exposed(const RunAnalysis& analysis) {
  Seconds sum = 0;
  for (const AnalyzedRank& rank : analysis.ranks) sum += rank.summary.mean.parts.comm_exposed;
  return sum / static_cast<double>(analysis.ranks.size());
}

RunAnalysis analyze_profiles(const std::vector<Profile>& given, const PlaceOfRun& place) {
  if (given.empty()) throw ConfigError("there is no trace to analyze");
  RunAnalysis analysis;
  const Profiles profiles = first_windows(given, analysis.notes);
  const auto numbers = numbered_ranks(profiles, analysis.notes);
  StepsOfRanks steps;
  SpansOfRanks spans;
  for (std::size_t i = 0; i < profiles.size(); ++i) {
    const Profile& profile = *profiles[i];
    const RankSteps found = rank_steps(profile);
    spans.push_back(collective_spans(profile, found));
    steps.push_back(found.steps);
    analysis.ranks.push_back(analyzed_rank(profile, found, numbers[i]));
    if (profile.world) analysis.world = std::max(analysis.world.value_or(0), *profile.world);
    if (analysis.gpu.empty() && !profile.gpus.empty()) analysis.gpu = profile.gpus.front();
  }
  analysis.reach = reach_of(profiles, place);
  analysis.gpus_of_node = gpus_of_a_node(profiles, place);
  note_what_is_missing(analysis, profiles);
  if (place.machine != nullptr)
    if (const std::string traced = other_gpu(analysis.gpu, *place.machine); !traced.empty())
      analysis.notes.push_back(
          fmt::format("computing is as measured on {}, and {} has {}: the rates to expect are its alone",
                      traced, place.machine->name, place.machine->gpu.name));
  finish_analysis(analysis, std::move(steps), spans, place.rated);
  return analysis;
}

}  // namespace gradwire
