#include "explain/rank_steps.h"

#include <algorithm>

#include "explain/landmarks.h"
#include "import/communication_names.h"

namespace gradwire {
namespace {

Seconds in_seconds(Nanoseconds time) { return static_cast<Seconds>(time) * 1e-9; }

Intervals all_computing(const PlacedWork& work) {
  return united(united(work.forward, work.backward), united(work.optimizer, work.other));
}

// The parts of computing, each moment in one of them.
void share_computing(const PlacedWork& work, const Interval& window, Breakdown& parts) {
  Intervals taken;
  const auto take = [&](const Intervals& set, Seconds& part) {
    const auto inside = within(set, window);
    part = in_seconds(length(without(inside, taken)));
    taken = united(taken, inside);
  };
  take(work.optimizer, parts.optimizer);
  take(work.backward, parts.backward);
  take(work.forward, parts.forward);
  take(work.other, parts.other);
}

StepShares share_gpu_step(const PlacedWork& work, const Intervals& computing, const Intervals& input,
                          const Interval& window) {
  StepShares shares;
  share_computing(work, window, shares.parts);
  const auto compute = within(computing, window), comm = within(work.communication, window);
  shares.parts.comm_overlapped = in_seconds(length(common(comm, compute)));
  shares.parts.comm_exposed = in_seconds(length(without(comm, compute)));
  const auto used = united(compute, comm);
  const auto copies = without(within(work.copies, window), used);
  shares.copies = in_seconds(length(copies));
  shares.copies_in = in_seconds(length(common(copies, within(work.copies_in, window))));
  const auto nothing = without({window}, united(used, copies));
  const auto waiting = within(input, window);
  shares.parts.data = in_seconds(length(common(nothing, waiting)));
  const auto idle = without(nothing, waiting);
  shares.idle = in_seconds(length(idle));
  shares.idle_sync = in_seconds(length(common(idle, within(work.synchronising, window))));
  const auto queued = common(idle, within(work.queued, window)), starved = without(idle, queued);
  shares.idle_queued = in_seconds(length(queued));
  shares.idle_quiet = in_seconds(length(common(starved, within(work.quiet, window))));
  shares.idle_before = in_seconds(length(common(starved, within(work.before_batch, window))));
  return shares;
}

// Operators that make the next batch are its input, not computing.
void leave_out_input(PlacedWork& work, const Intervals& input) {
  for (Intervals* set : {&work.optimizer, &work.backward, &work.forward, &work.other})
    *set = without(*set, input);
}

StepShares share_host_step(const PlacedWork& work, const Intervals& computing, const Intervals& input,
                           const Interval& window) {
  StepShares shares;
  const auto waiting = within(input, window);
  share_computing(work, window, shares.parts);
  const auto busy = united(within(computing, window), waiting);
  const auto comm = within(work.communication, window);
  shares.parts.data = in_seconds(length(waiting));
  shares.parts.comm_overlapped = in_seconds(length(common(comm, busy)));
  const auto exposed = without(comm, busy);
  shares.parts.comm_exposed = in_seconds(length(exposed));
  shares.parts.other += in_seconds(length(without({window}, united(busy, exposed))));
  return shares;
}

// See the header: where the processor begins a step, or the GPU is done with the one before.
std::vector<Interval> gpu_windows(const Landmarks& marks, const PlacedWork& work) {
  const std::vector<Nanoseconds>& gpu_ends = work.step_ends;
  std::vector<Interval> windows;
  Nanoseconds done = marks.gpu_begins;
  if (marks.first_left_out) done = std::max(done, std::min(work.before_end, marks.steps.front().window.end));
  for (std::size_t i = 0; i < marks.steps.size(); ++i) {
    const Interval& host = marks.steps[i].window;
    const Nanoseconds begin = std::max(host.begin, done);
    const Nanoseconds next = i + 1 < marks.steps.size() ? marks.steps[i + 1].window.begin : host.end;
    done = std::max({begin, next, gpu_ends[i]});
    windows.push_back({begin, done});
  }
  return windows;
}

bool has_gpu(const Profile& profile) {
  return std::any_of(profile.activities.begin(), profile.activities.end(),
                     [](const Activity& activity) { return on_gpu(activity.kind); });
}

// Calls that start something on a GPU, or collectives of NCCL, and nothing of what they started. Of NPUs there is all, without
// categories: what ran where is not told there.
bool lacks_its_gpu(const Profile& profile) {
  return std::any_of(profile.activities.begin(), profile.activities.end(), [&](const Activity& activity) {
    const auto name = profile.name_of(activity);
    return activity.kind == ActivityKind::runtime
               ? name.find("LaunchKernel") != std::string_view::npos
               : name.starts_with("nccl:") || name.starts_with("hcom_") || name.starts_with("AscendCL@");
  });
}

// Collectives of a GPU's backend were called, and nothing on the GPU is known to be theirs. One rank alone has nothing to
// send.
bool lacks_its_calls(const Profile& profile) {
  const auto talks = [&](const Activity& one) {
    return one.kind == ActivityKind::communication || is_host_backend_span(profile.name_of(one));
  };
  const auto calls = [&](const Activity& one) {
    const auto name = profile.name_of(one);
    return !on_gpu(one.kind) &&
           (name == "record_param_comms" || name.starts_with("nccl:") || name.starts_with("c10d::all"));
  };
  const auto& all = profile.activities;
  return profile.world.value_or(2) > 1 && std::any_of(all.begin(), all.end(), calls) &&
         std::none_of(all.begin(), all.end(), talks);
}

void add_shares(StepShares& sum, const StepShares& one) {
  Breakdown& parts = sum.parts;
  parts.data += one.parts.data;
  parts.forward += one.parts.forward;
  parts.backward += one.parts.backward;
  parts.comm_overlapped += one.parts.comm_overlapped;
  parts.comm_exposed += one.parts.comm_exposed;
  parts.optimizer += one.parts.optimizer;
  parts.other += one.parts.other;
  sum.copies += one.copies;
  sum.copies_in += one.copies_in;
  sum.idle += one.idle;
  sum.idle_sync += one.idle_sync;
  sum.idle_quiet += one.idle_quiet;
  sum.idle_before += one.idle_before;
  sum.idle_queued += one.idle_queued;
}

void divide_shares(StepShares& sum, double by) {
  for (Seconds* part :
       {&sum.parts.data, &sum.parts.forward, &sum.parts.backward, &sum.parts.comm_overlapped,
        &sum.parts.comm_exposed, &sum.parts.optimizer, &sum.parts.other, &sum.copies, &sum.copies_in,
        &sum.idle, &sum.idle_sync, &sum.idle_quiet, &sum.idle_before, &sum.idle_queued})
    *part /= by;
}

}  // namespace

StepShares mean_of(const std::vector<RankStep>& steps) {
  StepShares sum;
  for (const RankStep& step : steps) add_shares(sum, step.shares);
  if (!steps.empty()) divide_shares(sum, static_cast<double>(steps.size()));
  return sum;
}

GpuTotals gpu_totals(const Profile& profile) {
  Intervals compute, comm, copies;
  GpuTotals totals;
  for (const Activity& activity : profile.activities) {
    if (!on_gpu(activity.kind)) continue;
    const bool talks = activity.kind == ActivityKind::communication,
               copy = activity.kind == ActivityKind::copy;
    (talks ? comm : copy ? copies : compute).push_back({activity.begin, activity.end});
    totals.collectives += talks;
    totals.kernels += !talks && !copy;
  }
  compute = united(std::move(compute));
  comm = united(std::move(comm));
  copies = united(std::move(copies));
  const auto all = united(united(compute, comm), copies);
  if (all.empty()) return totals;
  totals.span = all.back().end - all.front().begin;
  totals.compute = length(compute);
  totals.comm = length(comm);
  totals.overlap = length(common(compute, comm));
  totals.copies = length(copies);
  totals.idle = totals.span - length(all);
  return totals;
}

RankSteps rank_steps(const Profile& profile) {
  RankSteps result;
  result.marks = find_landmarks(profile);
  const Landmarks& marks = result.marks;
  result.on_gpu = has_gpu(profile);
  result.gpu_unseen = !result.on_gpu && lacks_its_gpu(profile);
  result.calls_unseen = result.on_gpu && lacks_its_calls(profile);
  result.names_input = !marks.input.empty();
  result.gpu = gpu_totals(profile);
  PlacedWork work = result.on_gpu ? place_gpu_work(profile, marks) : place_host_work(profile, marks);
  if (!result.on_gpu) leave_out_input(work, marks.input);
  result.computing = all_computing(work);
  result.communication = work.communication;
  std::vector<Interval> windows;
  for (const HostStep& step : marks.steps) windows.push_back(step.window);
  if (result.on_gpu) windows = gpu_windows(marks, work);
  for (std::size_t i = 0; i < windows.size(); ++i)
    result.steps.push_back(
        {marks.steps[i].number, windows[i],
         (result.on_gpu ? share_gpu_step : share_host_step)(work, result.computing, marks.input, windows[i]),
         0});
  result.mean = mean_of(result.steps);
  return result;
}

}  // namespace gradwire
