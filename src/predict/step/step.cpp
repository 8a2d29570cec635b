#include "predict/step/step.h"

#include <algorithm>
#include <cmath>

namespace gradwire {
namespace {

// Share of backward in which collectives can hide. DDP's leave as buckets become ready.
double hiding(const StepProblem& problem, const StepConstants& constants) {
  if (problem.options.overlap) return *problem.options.overlap ? 1 : 0;
  if (problem.options.distribution == Distribution::ddp) return 1;
  return problem.options.distribution == Distribution::horovod ? constants.hiding_horovod : 0;
}

Seconds collective_time(const StepProblem& problem, const ReadyBucket& bucket,
                        const StepConstants& constants) {
  if (problem.staged == 0) return bucket.time;
  return double(bucket.bytes) * problem.staged / (2 * constants.replicated_host_gbps * 1e9);
}

// What the framework does for each gradient, once a step, as part of backward.
Seconds hooks(const StepProblem& problem, const StepConstants& constants) {
  const auto& options = problem.options;
  if (options.distribution == Distribution::none || options.distribution == Distribution::dataparallel)
    return 0;
  if (options.distribution == Distribution::tf_replicated) {
    const double each =
        problem.staged > 0 ? constants.staged_us_per_tensor : constants.replicated_us_per_tensor;
    return problem.tensors * each * 1e-6 * std::log2(problem.ranks);
  }
  return problem.tensors * constants.ddp_us_per_tensor * 1e-6 + problem.copies;
}

double slowdown(const StepProblem& problem, const StepConstants& constants, const ReadyBucket& bucket) {
  return problem.on_processor ? bucket.slowdown : lost_pace(problem, constants);
}

// Where backward stands while collectives run one after another. Times count from its begin.
struct Lane {
  Seconds now = 0;     // of the last collective's end
  Seconds busy = 0;    // all collectives
  Seconds under = 0;   // those under backward
  Seconds done = 0;    // of backward, in the time it takes undisturbed
  Seconds ended = -1;  // when backward ended; below 0: not yet
};

// Sums of layers' times are exact to so many parts of the whole: what is less is nothing left.
constexpr double kRounding = 1e-9;

bool is_over(const Lane& lane, Seconds backward) { return backward - lane.done <= kRounding * backward; }

// Backward goes on alone until so much of it is done.
void compute_until(Lane& lane, Seconds done) {
  if (done <= lane.done) return;
  lane.now += done - lane.done;
  lane.done = done;
}

// A collective runs, and computing goes on beside it at the pace that is left, until one of them ends.
void communicate(Lane& lane, Seconds time, double slowdown, Seconds backward) {
  const auto left = backward - lane.done, done = time * (1 - slowdown);
  if (lane.ended < 0 && done >= left) lane.ended = lane.now + (slowdown < 1 ? left / (1 - slowdown) : 0);
  lane.done += std::min(left, done);
  lane.under += lane.ended < 0 ? time : std::clamp(lane.ended - lane.now, 0.0, time);
  lane.now += time;
  lane.busy += time;
}

// None starts before its bucket is ready; with a hiding share below 1 they begin later, at 0 only when
// backward is over.
template <typename Visit>
Lane run_lane(const StepProblem& problem, const StepConstants& constants, Seconds backward, Visit visit) {
  Lane lane;
  const double share = hiding(problem, constants);
  for (const auto& bucket : problem.buckets) {
    compute_until(lane, backward * (1 - share * (1 - bucket.ready)));
    if (lane.ended < 0 && is_over(lane, backward)) lane.ended = lane.now;
    const Lane start = lane;
    communicate(lane, collective_time(problem, bucket, constants), slowdown(problem, constants, bucket),
                backward);
    visit(bucket, start, lane);
  }
  if (lane.ended < 0) lane.ended = lane.now + backward - lane.done;
  return lane;
}

constexpr auto kIgnore = [](const ReadyBucket&, const Lane&, const Lane&) {};

// When backward had come so far.
class Progress {
 public:
  void add(Lane lane) {
    if (lane.ended >= 0) lane.now = lane.ended;
    known_.push_back(lane);
  }

  Seconds when(Seconds done) const {
    const auto after = std::ranges::lower_bound(known_, done, {}, &Lane::done);
    const Lane before = after == known_.begin() ? Lane{} : *std::prev(after);
    if (after == known_.end() || after->done <= before.done) return before.now;
    return before.now + (after->now - before.now) * (done - before.done) / (after->done - before.done);
  }

 private:
  std::vector<Lane> known_;  // in the order of time
};

struct Solution {
  Seconds backward = 0;  // of the last micro-batch: with hooks and slow-down
  Seconds slowdown = 0;  // part of it
  Seconds exposed = 0;
  Seconds other = 0;  // once a step: ranks that come last, buffers
  Lane lane;
};

// Waiting for the slowest rank, in this step's own terms.
Seconds spread(const StepProblem& problem, const StepConstants& constants, Seconds computing) {
  const bool one_process = problem.options.distribution == Distribution::tf_replicated ||
                           problem.options.distribution == Distribution::dataparallel;
  if (one_process) return 0;  // found to be nothing
  return expected_maximum(problem.ranks) * constants.spread_share * computing;
}

Seconds computing_of(const StepProblem& problem) {
  return problem.options.accumulate * (problem.forward + problem.backward) + problem.optimizer;
}

Solution solve_dataparallel(const StepProblem& problem, const StepConstants& constants) {
  Solution solution;
  solution.backward = problem.backward;
  // Parameters out and gradients back, each once over the links: an all-reduce times n/(n-1).
  for (const auto& bucket : problem.buckets) solution.lane.busy += bucket.time;
  solution.exposed = solution.lane.busy * problem.ranks / std::max(1, problem.ranks - 1);
  solution.other = constants.dataparallel_share * computing_of(problem);
  return solution;
}

template <typename Visit>
Solution solve_lanes(const StepProblem& problem, const StepConstants& constants, Visit visit) {
  if (problem.options.distribution == Distribution::dataparallel && problem.ranks > 1)
    return solve_dataparallel(problem, constants);
  Solution solution;
  const auto alone = solution.backward = problem.backward + hooks(problem, constants);
  if (problem.ranks == 1) return solution;
  solution.other += spread(problem, constants, computing_of(problem));
  if (problem.options.distribution == Distribution::none) return solution;
  solution.lane = run_lane(problem, constants, alone, visit);
  solution.backward = solution.lane.ended;
  solution.slowdown = solution.backward - alone;
  solution.exposed = std::max(0.0, solution.lane.now - solution.backward);
  solution.other += problem.buffers;
  return solution;
}

Seconds step_of(const StepProblem& problem, const Solution& solution) {
  return accumulated_step(
      problem.options.data + problem.forward + problem.backward + problem.between,
      solution.backward - problem.backward + solution.exposed + problem.optimizer + solution.other,
      problem.options.accumulate);
}

// How the logarithm of the step answers to that of every collective's time.
double answer_to_wires(const StepProblem& problem, const StepConstants& constants, Seconds step) {
  constexpr double kTimes = 1.05;
  if (problem.ranks == 1) return 0;
  return std::log(solve_step(on_slower_wires(problem, kTimes), constants) / step) / std::log(kTimes);
}

// Of a step beside its collectives, as a logarithm that holds eight of ten.
double own_width(const StepProblem& problem, const StepConstants& constants) {
  if (problem.unsteady) return std::log1p(*problem.unsteady);
  const double runs = kEightOfTen * run_spread(problem);
  return problem.options.anchor ? runs : std::hypot(runs, std::log1p(constants.error_roofline));
}

double error_of(const StepProblem& problem, const StepEstimate& estimate, const StepConstants& constants) {
  const double of_wires = std::asinh(problem.wire_error) * estimate.wire_answer;
  return std::sinh(std::hypot(own_width(problem, constants), of_wires));
}

}  // namespace

double expected_maximum(int n) {
  if (n <= 1) return 0;
  // The normal quantile of (n - 3/8) / (n + 1/4), by Abramowitz and Stegun 26.2.23.
  const double t = std::sqrt(-2 * std::log(0.625 / (n + 0.25)));
  return t -
         (2.515517 + t * (0.802853 + t * 0.010328)) / (1 + t * (1.432788 + t * (0.189269 + t * 0.001308)));
}

Seconds accumulated_step(Seconds each, Seconds once, int micro_batches) {
  return micro_batches * each + once;
}

Seconds solve_step(const StepProblem& problem, const StepConstants& constants) {
  return step_of(problem, solve_lanes(problem, constants, kIgnore));
}

StepProblem on_slower_wires(StepProblem problem, double times) {
  for (auto& bucket : problem.buckets) bucket.time *= times;
  problem.buffers *= times;
  return problem;
}

StepEstimate solve(const StepProblem& problem, const StepConstants& constants) {
  const auto& options = problem.options;
  const double micro = options.data + problem.forward + problem.backward;  // drawn without what is between
  const auto before = (options.accumulate - 1) * micro + options.data + problem.forward;
  StepEstimate estimate;
  Progress progress;
  const auto backward = problem.backward + hooks(problem, constants);
  const auto solution =
      solve_lanes(problem, constants, [&](const ReadyBucket& bucket, const Lane& start, const Lane& end) {
        progress.add(start);
        const auto ready = progress.when(backward * bucket.ready);
        progress.add(end);
        estimate.buckets.push_back({bucket.bytes, before + ready, before + start.now, before + end.now});
      });
  estimate.step = step_of(problem, solution);
  estimate.batch = options.batch;
  estimate.accumulate = options.accumulate;
  estimate.micro_backward = problem.backward;
  estimate.ranks = problem.ranks;
  const double samples = double(options.batch) * options.accumulate * problem.ranks;
  estimate.samples_per_s = samples / estimate.step;
  estimate.gradient_bytes = problem.gradient_bytes;
  estimate.communication = solution.lane.busy;
  estimate.slowdown = solution.slowdown;
  const bool lanes = problem.ranks > 1 && options.distribution != Distribution::none &&
                     options.distribution != Distribution::dataparallel;
  if (lanes) estimate.synchronising = problem.buffers;
  auto& parts = estimate.parts;
  parts.data = options.accumulate * options.data;
  parts.forward = options.accumulate * problem.forward;
  parts.backward = (options.accumulate - 1) * problem.backward + solution.backward;
  parts.comm_overlapped = std::max(0.0, solution.lane.busy - solution.exposed);
  parts.comm_exposed = solution.exposed;
  parts.optimizer = problem.optimizer;
  parts.other = options.accumulate * problem.between + solution.other;
  const Seconds alone = computing_of(problem) + options.accumulate * problem.between +
                        parts.data;  // of GPUs that need not talk
  estimate.scaling = problem.ranks == 1 ? 1 : alone / estimate.step;
  estimate.wire_answer = answer_to_wires(problem, constants, estimate.step);
  estimate.relative_error = error_of(problem, estimate, constants);
  estimate.computing_error = options.anchor ? 0 : constants.error_roofline;
  return estimate;
}

StepEstimate estimate_step(const Workload& workload, const Gpu& gpu, const Wires& wires,
                           const StepOptions& options, const StepModel& model) {
  return solve(make_problem(workload, gpu, wires, options, model.constants, model.roofline), model.constants);
}

}  // namespace gradwire
