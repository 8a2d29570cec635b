#include "predict/step/replay.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "predict/step/recorded.h"
#include "sched/step_run.h"

namespace gradwire {
namespace {

// A moment of a rank between two stretches of computing: a call is asked for, or waited for.
struct Stop {
  Seconds at = 0, until = 0;
  std::size_t call = 0;
  bool waits = false;
};

// What one rank did: stretches of computing with stops between them.
struct RankPart {
  std::vector<const Span*> calls, others;
  std::vector<Stop> stops;
  std::vector<Seconds> begins, ends;  // of the stretches; one more than stops
  std::vector<int> tasks;             // of the stretches, in the graph
  std::vector<int> call_tasks;
};

// Steps before it were taken for real.
int first_rehearsed_step(const Timeline& timeline) {
  int first = std::numeric_limits<int>::max();
  for (const Span& span : timeline.spans)
    if (span.rehearsed) first = std::min(first, span.step);
  if (first == std::numeric_limits<int>::max())
    throw ConfigError(fmt::format("{}: it is no rehearsal: no call was left out", timeline.source));
  return first;
}

void cut_at_stops(RankPart& part) {
  std::sort(part.calls.begin(), part.calls.end(),
            [](const Span* a, const Span* b) { return a->ready < b->ready; });
  for (std::size_t i = 0; i < part.calls.size(); ++i) {
    const Span& call = *part.calls[i];
    part.stops.push_back({call.ready, call.ready, i, false});
    part.stops.push_back({call.begin, call.end, i, true});
  }
  std::stable_sort(part.stops.begin(), part.stops.end(),
                   [](const Stop& a, const Stop& b) { return a.at < b.at; });
  Seconds begin = std::numeric_limits<Seconds>::infinity(), end = 0;
  for (const auto* spans : {&part.calls, &part.others})
    for (const Span* span : *spans) begin = std::min(begin, span->begin), end = std::max(end, span->end);
  for (const Stop& stop : part.stops) {
    part.begins.push_back(begin);
    part.ends.push_back(std::max(begin, stop.at));
    begin = std::max(part.ends.back(), stop.until);
  }
  part.begins.push_back(begin);
  part.ends.push_back(std::max(begin, end));
}

std::vector<RankPart> parts_of(const Timeline& timeline) {
  const int first = first_rehearsed_step(timeline);
  std::vector<RankPart> parts(static_cast<std::size_t>(timeline.ranks));
  for (const Span& span : timeline.spans) {
    if (span.step < first) continue;
    auto& part = parts[static_cast<std::size_t>(span.rank)];
    (span.rehearsed ? part.calls : part.others).push_back(&span);
  }
  for (auto& part : parts) {
    if (part.calls.empty())
      throw ConfigError(fmt::format("{}: a rank of it has no call that was rehearsed", timeline.source));
    cut_at_stops(part);
  }
  return parts;
}

// Writes the graph, and knows how long its tasks take.
class GraphOfParts {
 public:
  GraphOfParts(std::vector<RankPart>& parts, const MeasuredCalls& wires) : parts_(parts), wires_(wires) {
    for (Rank rank = 0; rank < static_cast<int>(parts.size()); ++rank)
      for (const Span* call : parts[static_cast<std::size_t>(rank)].calls) join(rank, call->rehearsed->group);
    graph_.mesh.dp = static_cast<int>(parts.size());
    graph_.ranks.resize(parts.size());
    for (Rank rank = 0; rank < static_cast<int>(parts.size()); ++rank) write(rank);
  }

  StepRun run() const {
    return run_step(
        graph_, [this](Rank rank, const Task& task) { return duration(rank, task); }, StepLanes::by_group,
        [this](Rank, const Task& task) { return cost(task).share; });
  }

  const Task& task(Rank rank, int index) const {
    return graph_.ranks[static_cast<std::size_t>(rank)][static_cast<std::size_t>(index)];
  }
  const CallCost& cost(const Task& task) const {
    return costs_[static_cast<std::size_t>(task.group)].at(static_cast<std::size_t>(task.unit));
  }

 private:
  void join(Rank rank, const std::string& group) {
    const auto [found, is_new] = groups_.try_emplace(group, static_cast<int>(graph_.groups.size()));
    if (is_new) graph_.groups.emplace_back(), costs_.emplace_back();
    auto& members = graph_.groups[static_cast<std::size_t>(found->second)];
    if (members.empty() || members.back() != rank) members.push_back(rank);
  }

  Seconds duration(Rank rank, const Task& task) const {
    if (task.group >= 0) return cost(task).time;
    const auto& part = parts_[static_cast<std::size_t>(rank)];
    const auto stretch = static_cast<std::size_t>(task.unit);
    return part.ends[stretch] - part.begins[stretch];
  }

  int add(Rank rank, Task task) {
    auto& tasks = graph_.ranks[static_cast<std::size_t>(rank)];
    tasks.push_back(std::move(task));
    return static_cast<int>(tasks.size()) - 1;
  }

  void write(Rank rank) {
    auto& part = parts_[static_cast<std::size_t>(rank)];
    std::map<int, int> count;  // by group: calls so far
    part.call_tasks.resize(part.calls.size());
    part.tasks.push_back(add(rank, {.kind = TaskKind::forward, .unit = 0, .after = {}}));
    for (std::size_t i = 0; i < part.stops.size(); ++i) {
      const Stop& stop = part.stops[i];
      if (!stop.waits)
        part.call_tasks[stop.call] =
            add(rank, call_task(rank, *part.calls[stop.call], part.tasks.back(), count));
      const std::vector<int> after =
          stop.waits ? std::vector{part.call_tasks[stop.call]} : std::vector<int>{};
      part.tasks.push_back(
          add(rank, {.kind = TaskKind::forward, .unit = static_cast<int>(i) + 1, .after = after}));
    }
  }

  Task call_task(Rank rank, const Span& span, int after, std::map<int, int>& count) {
    const RehearsedCall& call = *span.rehearsed;
    const int group = groups_.at(call.group);
    const auto& members = graph_.groups[static_cast<std::size_t>(group)];
    const int number = count[group]++;
    auto& costs = costs_[static_cast<std::size_t>(group)];
    if (static_cast<std::size_t>(number) == costs.size())
      costs.push_back(wires_.of(call, static_cast<int>(members.size()), span.bytes));
    Task task{.kind = TaskKind::collective,
              .unit = number,
              .group = group,
              .collective = call.kind,
              .bytes = span.bytes,
              .after = {after}};
    if (call.kind == Collective::send || call.kind == Collective::recv) {
      task.kind = call.kind == Collective::send ? TaskKind::send : TaskKind::recv;
      task.collective = Collective::send;
      task.peer = members.front() == rank ? members.back() : members.front();
    }
    return task;
  }

  std::vector<RankPart>& parts_;
  const MeasuredCalls& wires_;
  StepGraph graph_;
  std::map<std::string, int> groups_;
  std::vector<std::vector<CallCost>> costs_;  // by group, by number
};

// When the moments of a rank's rehearsal come in the run.
class RankClock {
 public:
  RankClock(const RankPart& part, const std::vector<TaskTimes>& times) : part_(part), times_(times) {}

  // Where a stop takes time, its begin: what follows it begins with the next stretch.
  Seconds at(Seconds moment) const {
    const auto next = std::upper_bound(part_.begins.begin(), part_.begins.end(), moment);
    const auto i = static_cast<std::size_t>(std::max<std::ptrdiff_t>(1, next - part_.begins.begin())) - 1;
    const Seconds length = part_.ends[i] - part_.begins[i];
    const double share = length > 0 ? std::clamp((moment - part_.begins[i]) / length, 0.0, 1.0) : 0;
    return stretch(i).begin + share * (stretch(i).end - stretch(i).begin);
  }
  const TaskTimes& stretch(std::size_t i) const { return times_[static_cast<std::size_t>(part_.tasks[i])]; }
  const TaskTimes& call(std::size_t i) const { return times_[static_cast<std::size_t>(part_.call_tasks[i])]; }

 private:
  const RankPart& part_;
  const std::vector<TaskTimes>& times_;
};

std::string called(const RehearsedCall& call) { return fmt::format("{} {}", name_of(call.kind), call.group); }

// The spans of a rank as they come in the run, waits and calls as the wires have it.
void draw(const RankPart& part, const RankClock& clock, std::vector<Span>& spans) {
  for (const Span* span : part.others) {
    if (span->kind == SpanKind::wait || span->kind == SpanKind::bucket) continue;
    Span moved = *span;
    moved.begin = clock.at(span->begin);
    moved.end = std::max(moved.begin, clock.at(span->end));
    spans.push_back(std::move(moved));
  }
  for (std::size_t i = 0; i < part.stops.size(); ++i) {
    const Stop& stop = part.stops[i];
    const Span& call = *part.calls[stop.call];
    const Seconds begin = clock.stretch(i).end, end = clock.stretch(i + 1).begin;
    if (stop.waits && end > begin)
      spans.push_back({.rank = call.rank,
                       .step = call.step,
                       .kind = SpanKind::wait,
                       .name = called(*call.rehearsed),
                       .begin = begin,
                       .end = end});
    if (stop.waits) continue;
    Span sent = call;
    sent.name = called(*call.rehearsed);
    sent.rehearsed.reset();
    sent.ready = begin;
    sent.begin = clock.call(stop.call).begin;
    sent.end = clock.call(stop.call).end;
    spans.push_back(std::move(sent));
  }
}

}  // namespace

Replayed replay(const Timeline& rehearsal, const MeasuredCalls& wires) {
  auto parts = parts_of(rehearsal);
  const GraphOfParts graph(parts, wires);
  StepRun run;
  try {
    run = graph.run();
  } catch (const ConfigError&) {
    throw;
  } catch (const Error& error) {
    throw ConfigError(
        fmt::format("{}: its ranks do not make the same calls: {}", rehearsal.source, error.what()));
  }
  Replayed replayed;
  replayed.timeline = {rehearsal.source + " over " + wires.backend(), rehearsal.ranks, {}, rehearsal.samples};
  std::map<int, int> steps;
  for (std::size_t rank = 0; rank < parts.size(); ++rank) {
    draw(parts[rank], RankClock(parts[rank], run.ranks[rank]), replayed.timeline.spans);
    for (std::size_t i = 0; i < parts[rank].calls.size(); ++i) {
      ++steps[parts[rank].calls[i]->step];
      replayed.communication +=
          graph.cost(graph.task(static_cast<Rank>(rank), parts[rank].call_tasks[i])).time;
    }
  }
  replayed.communication /=
      static_cast<double>(parts.size()) * static_cast<double>(std::max<std::size_t>(1, steps.size()));
  return replayed;
}

StepEstimate replayed_estimate(const Timeline& rehearsal, const Replayed& replayed) {
  StepEstimate estimate;
  estimate.parts = breakdown(replayed.timeline);
  estimate.step = estimate.parts.step();
  estimate.ranks = rehearsal.ranks;
  estimate.batch = rehearsal.samples;
  estimate.samples_per_s = rehearsal.samples * rehearsal.ranks / estimate.step;
  estimate.communication = replayed.communication;
  estimate.scaling = breakdown(rehearsal).step() / estimate.step;
  estimate.relative_error = unsteadiness(replayed.timeline);
  return estimate;
}

}  // namespace gradwire
