// Traces of torch.profiler: which of them are ranks of the run, where those are, and what each says.
#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/text.h"
#include "explain/analysis.h"
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
