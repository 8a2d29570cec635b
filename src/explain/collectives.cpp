#include "explain/collectives.h"

#include <algorithm>
#include <map>
#include <tuple>

#include "base/error.h"
#include "import/communication_names.h"
#include "predict/nccl/collective.h"

namespace gradwire {
namespace {

int step_at(const RankSteps& steps, Nanoseconds moment) {
  const auto after =
      std::upper_bound(steps.steps.begin(), steps.steps.end(), moment,
                       [](Nanoseconds value, const RankStep& step) { return value < step.window.begin; });
  return after == steps.steps.begin() ? -1 : std::prev(after)->number;
}

// Of a kernel whose launch the trace tells.
bool is_of_forward(const Launches& launches, const LoopPlaces& places, const Activity& activity) {
  const Activity* launch = launches.find(activity);
  return launch != nullptr && places.part_of(launch->lane, launch->begin) == LoopPart::forward;
}

CollectiveSpan span_of(const Profile& profile, const RankSteps& steps, const Activity& activity) {
  CollectiveSpan span;
  span.begin = activity.begin;
  span.end = activity.end;
  span.step = step_at(steps, activity.begin);
  const auto name = profile.name_of(activity);
  const auto kind = collective_of(name);
  if (kind) span.collective = *kind;
  if (activity.call >= 0) {
    const ProfiledCall& call = profile.calls[static_cast<std::size_t>(activity.call)];
    // A kernel named send and receive, or not by NCCL, does what the call says: an all-to-all, a gather.
    const bool named = kind && *kind != Collective::exchange && is_communication_kernel(name);
    if (!named) span.collective = call.collective;
    span.bytes = call.bytes;
    span.ranks = call.ranks;
    span.members = call.members;
    span.group = call.group;
    span.whole_numbers = call.whole_numbers;
    span.sequence = call.sequence;
  }
  if (span.collective.word.empty()) span.collective.word = "communication";
  if (span.ranks == 0 && span.group.empty() && profile.world) span.ranks = *profile.world;
  span.exposed = span.duration() - length(within(steps.computing, {span.begin, span.end}));
  return span;
}

using MatchKey = std::tuple<std::string, std::string, int, std::int64_t>;  // group, collective, step, order

// The n-th of its kind in its group and step, or the number that PyTorch gave it.
std::map<MatchKey, CollectiveSpan*> by_order(std::vector<CollectiveSpan>& spans) {
  std::map<MatchKey, CollectiveSpan*> order;
  std::map<std::tuple<std::string, std::string, int>, std::int64_t> count;
  for (CollectiveSpan& span : spans) {
    const bool numbered = span.sequence >= 0;
    const auto number = numbered ? span.sequence : count[{span.group, span.collective.word, span.step}]++;
    order.emplace(MatchKey{span.group, span.collective.word, numbered ? -2 : span.step, number}, &span);
  }
  return order;
}

// How many calls of a kind a rank made in a step; matching by order needs all ranks to agree.
using CountKey = std::tuple<std::string, std::string, int>;
std::map<CountKey, int> call_counts(const std::map<MatchKey, CollectiveSpan*>& order) {
  std::map<CountKey, int> counts;
  for (const auto& [key, span] : order) ++counts[{std::get<0>(key), std::get<1>(key), std::get<2>(key)}];
  return counts;
}

void tell_wait_from_transfer(const std::vector<CollectiveSpan*>& call) {
  CollectiveSpan* const last = *std::min_element(
      call.begin(), call.end(), [](auto a, auto b) { return a->duration() < b->duration(); });
  for (CollectiveSpan* span : call) {
    span->transfer = last->duration();
    last->caused += span->wait();
  }
}

double middle(std::vector<double> values) {
  if (values.empty()) return 0;
  const auto mid = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), mid, values.end());
  return *mid;
}

// What a row is gathered from.
struct RowSamples {
  std::vector<double> times, transfers;
  double wait = 0, exposed = 0;
  int in_forward = 0;
  std::map<std::size_t, int> counts, in_steps;  // by rank

  void add(const CollectiveSpan& span, std::size_t rank) {
    times.push_back(static_cast<double>(span.duration()) * 1e-9);
    if (span.transfer) transfers.push_back(static_cast<double>(*span.transfer) * 1e-9);
    wait += static_cast<double>(span.wait()) * 1e-9;
    if (span.counts) exposed += static_cast<double>(span.exposed) * 1e-9;
    in_forward += span.in_forward;
    ++counts[rank];
    in_steps[rank] += span.counts;
  }
};

int most_of(const std::map<std::size_t, int>& counts) {
  int most = 0;
  for (const auto& [rank, count] : counts) most = std::max(most, count);
  return most;
}

CollectiveRow row_of(const CollectiveSpan& like, const RowSamples& samples, double steps) {
  CollectiveRow row;
  row.collective = like.collective;
  row.group = like.group;
  row.bytes = like.bytes;
  row.ranks = like.ranks;
  row.members = like.members;
  row.whole_numbers = like.whole_numbers;
  row.count = most_of(samples.counts);
  row.each_step = most_of(samples.in_steps) / std::max(1.0, steps);
  row.forward_share = samples.in_forward / static_cast<double>(samples.times.size());
  row.time = middle(samples.times);
  row.matched = !samples.transfers.empty();
  row.transfer = row.matched ? middle(samples.transfers) : row.time;
  row.wait = row.matched ? samples.wait / static_cast<double>(samples.transfers.size()) : 0;
  row.exposed = samples.exposed / static_cast<double>(samples.counts.size()) / std::max(1.0, steps);
  if (row.bytes > 0 && row.transfer > 0) {
    row.algbw_gbps = static_cast<double>(row.bytes) / row.transfer / 1e9;
    const auto& kind = row.collective.kind;
    row.busbw_gbps = row.algbw_gbps * (kind && row.ranks > 1 ? bus_factor(*kind, row.ranks) : 1);
  }
  return row;
}

}  // namespace

bool is_collective(const Profile& profile, const RankSteps& steps, const Activity& activity) {
  if (steps.on_gpu)
    return activity.kind == ActivityKind::communication || is_host_backend_span(profile.name_of(activity));
  return activity.kind == ActivityKind::annotation && is_backend_span(profile.name_of(activity));
}

std::vector<CollectiveSpan> collective_spans(const Profile& profile, const RankSteps& steps) {
  std::vector<CollectiveSpan> spans;
  const Launches launches(profile);
  const LoopPlaces places(steps.marks);
  for (const Activity& activity : profile.activities)
    if (is_collective(profile, steps, activity)) {
      spans.push_back(span_of(profile, steps, activity));
      spans.back().in_forward = is_of_forward(launches, places, activity);
    }
  return spans;
}

void match_collectives(std::vector<std::vector<CollectiveSpan>>& ranks) {
  std::vector<std::map<MatchKey, CollectiveSpan*>> orders;
  std::map<CountKey, std::vector<int>> counts;
  for (auto& spans : ranks) {
    orders.push_back(by_order(spans));
    for (const auto& [key, count] : call_counts(orders.back())) counts[key].push_back(count);
  }
  std::map<MatchKey, std::vector<CollectiveSpan*>> calls;
  for (const auto& order : orders)
    for (const auto& [key, span] : order) calls[key].push_back(span);
  for (const auto& [key, spans] : calls) {
    const auto& agreed = counts[{std::get<0>(key), std::get<1>(key), std::get<2>(key)}];
    const bool numbered = std::get<2>(key) == -2;
    if (spans.size() < 2 || (!numbered && std::adjacent_find(agreed.begin(), agreed.end(),
                                                             std::not_equal_to<>()) != agreed.end()))
      continue;
    tell_wait_from_transfer(spans);
  }
}

std::vector<CollectiveRow> collective_rows(const std::vector<std::vector<CollectiveSpan>>& ranks,
                                           double steps) {
  std::map<std::tuple<std::string, std::string, Bytes>, std::pair<CollectiveSpan, RowSamples>> groups;
  for (std::size_t rank = 0; rank < ranks.size(); ++rank)
    for (const CollectiveSpan& span : ranks[rank]) {
      auto& [like, samples] =
          groups.try_emplace({span.group, span.collective.word, span.bytes}, span, RowSamples{})
              .first->second;
      samples.add(span, rank);
    }
  std::vector<CollectiveRow> rows;
  for (const auto& [key, group] : groups) rows.push_back(row_of(group.first, group.second, steps));
  std::stable_sort(rows.begin(), rows.end(),
                   [](const auto& a, const auto& b) { return a.time * a.count > b.time * b.count; });
  return rows;
}

std::optional<ExpectedRate> find_expected_rate(const Machine& machine, std::optional<Collective> collective,
                                               Bytes bytes, int ranks) {
  const int there = static_cast<int>(machine.gpus.size());
  if (!collective || is_point_to_point(*collective)) return std::nullopt;
  if (bytes == 0 || ranks < 2 || ranks > there) return std::nullopt;
  try {
    const Machine part = ranks < there ? with_gpus(machine, ranks) : machine;
    const AllReduceEstimate estimate = GroupModel(part, all_ranks(part)).estimate(*collective, bytes);
    return ExpectedRate{estimate.bus_gbps, estimate.relative_error, estimate.time};
  } catch (const ConfigError&) {
    return std::nullopt;  // some of several nodes, a machine without GPUs: no rate, and no reason to stop
  }
}

}  // namespace gradwire
