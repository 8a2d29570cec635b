#include "explain/analysis.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "explain/collectives.h"
#include "explain/gradients.h"
#include "explain/landmarks.h"
#include "import/profile.h"

namespace gradwire {
namespace {

class TimelineBuilder {
 public:
  TimelineBuilder(Timeline& timeline, Nanoseconds zero) : timeline_(timeline), zero_(zero) {}

  void add(SpanKind kind, const Intervals& set, int step, const Interval& window) {
    for (const Interval& one : within(set, window)) {
      Span span;
      span.step = step;
      span.kind = kind;
      span.begin = seconds(one.begin);
      span.end = seconds(one.end);
      timeline_.spans.push_back(std::move(span));
    }
  }

  // A step ends with its last span: this one takes no time.
  void end_step(int step, Nanoseconds moment) {
    Span span;
    span.step = step;
    span.kind = SpanKind::other;
    span.begin = span.end = seconds(moment);
    timeline_.spans.push_back(std::move(span));
  }

  void add_bucket(const CollectiveSpan& collective, Nanoseconds ready, int step, int number) {
    Span span;
    span.step = step;
    span.kind = SpanKind::bucket;
    span.begin = seconds(collective.begin);
    span.end = seconds(collective.end);
    span.ready = std::clamp(seconds(ready), 0.0, span.begin);
    span.bucket = number;
    span.bytes = collective.bytes;
    timeline_.spans.push_back(std::move(span));
  }

  // Nothing was sent: it takes no time.
  void add_bucket(const MadeBucket& made, int step, int number) {
    CollectiveSpan nothing;
    nothing.bytes = made.bytes;
    nothing.begin = nothing.end = made.ready;
    add_bucket(nothing, made.ready, step, number);
  }

 private:
  Seconds seconds(Nanoseconds moment) const { return static_cast<Seconds>(moment - zero_) * 1e-9; }
  Timeline& timeline_;
  const Nanoseconds zero_;
};

bool carries_gradients(const CollectiveSpan& span, const Interval& window) {
  return span.collective.kind == Collective::all_reduce && span.bytes > 0 && span.begin >= window.begin &&
         span.begin < window.end;
}

// All-reduces of a trace that tells no sizes, each an equal part of the parameters that somebody says the model has.
void take_parameters(std::vector<CollectiveSpan>& spans, const RankSteps& steps, double parameters) {
  for (const RankStep& step : steps.steps) {
    const auto gradients = [&](const CollectiveSpan& span) {
      return span.collective.kind == Collective::all_reduce && !span.in_forward &&
             span.begin >= step.window.begin && span.begin < step.window.end;
    };
    const auto count = std::count_if(spans.begin(), spans.end(), gradients);
    for (CollectiveSpan& span : spans)
      if (gradients(span)) span.bytes = static_cast<Bytes>(4 * parameters / static_cast<double>(count));
  }
}

bool tells_sizes(const std::vector<CollectiveSpan>& spans) {
  return std::any_of(spans.begin(), spans.end(), [](const CollectiveSpan& span) {
    return span.collective.kind == Collective::all_reduce && span.bytes > 0;
  });
}

// Which step of the run each that the trace marks belongs to; -1: to one that is not there as a whole.
struct RunSteps {
  std::vector<int> step_of;
  int micro_batches = 1;
};

// Marked steps that send most of what any sends: others send a figure for a log, or nothing.
std::vector<std::size_t> sending_steps(const std::vector<CollectiveSpan>& spans, const RankSteps& steps) {
  constexpr double kMostOfIt = 0.5;
  std::vector<double> sent(steps.steps.size());
  for (std::size_t i = 0; i < sent.size(); ++i)
    for (const CollectiveSpan& span : spans)
      if (carries_gradients(span, steps.steps[i].window)) sent[i] += static_cast<double>(span.bytes);
  const double most = sent.empty() ? 0 : *std::max_element(sent.begin(), sent.end());
  std::vector<std::size_t> sending;
  for (std::size_t i = 0; i < sent.size(); ++i)
    if (most > 0 && sent[i] >= kMostOfIt * most) sending.push_back(i);
  return sending;
}

// Gradients that are accumulated leave with the last micro-batch of a step. Where the profiler was stepped at each, every
// n-th marked step sends them: n of those are a step. Where there is no such order, a marked step is one.
RunSteps run_steps(const std::vector<CollectiveSpan>& spans, const RankSteps& steps) {
  RunSteps run;
  const auto sending = sending_steps(spans, steps);
  const std::size_t every = sending.size() < 2 ? 1 : sending[1] - sending[0];
  bool regular = every > 1 && sending[0] < every && steps.steps.size() - 1 - sending.back() < every;
  for (std::size_t i = 1; i < sending.size(); ++i) regular = regular && sending[i] - sending[i - 1] == every;
  for (std::size_t i = 0; i < steps.steps.size(); ++i)
    run.step_of.push_back(regular ? -1 : static_cast<int>(i));
  if (!regular) return run;
  run.micro_batches = static_cast<int>(every);
  for (int step = 0; const std::size_t last : sending) {
    if (last + 1 < every) continue;  // it began before the trace
    std::fill(run.step_of.begin() + static_cast<std::ptrdiff_t>(last + 1 - every),
              run.step_of.begin() + static_cast<std::ptrdiff_t>(last + 1), step);
    ++step;
  }
  return run;
}

std::vector<const Activity*> collective_activities(const Profile& profile, const RankSteps& steps) {
  std::vector<const Activity*> activities;
  for (const Activity& activity : profile.activities)
    if (is_collective(profile, steps, activity)) activities.push_back(&activity);
  return activities;
}

bool is_sharded(const CollectiveSpan& span) {
  return span.collective.kind == Collective::reduce_scatter || span.collective.kind == Collective::all_gather;
}

[[noreturn]] void refuse_profile(const Profile& profile, const RankSteps& steps,
                                 const std::vector<CollectiveSpan>& spans) {
  const char* why =
      "no step has an all-reduce, and the trace does not tell how large its gradients are: record it with "
      "record_shapes=True, or give the model's size, as in gradwire compare FILE --parameters 124e6";
  if (std::any_of(spans.begin(), spans.end(), is_sharded))
    why =
        "its gradients travel by reduce_scatter and all_gather (FSDP, ZeRO); all-reduces of "
        "DistributedDataParallel are what can be put on other links";
  else if (!spans.empty())
    why =
        "no step has an all-reduce whose size the trace tells: record several ranks with PyTorch 2.2 or "
        "later, or with record_shapes=True, or give the model's size, as in gradwire compare FILE "
        "--parameters 124e6";
  else if (steps.marks.any_backward.empty())
    why = "no step has an all-reduce, and none a backward: this is no training that the trace tells of";
  throw ConfigError(fmt::format("{}: {}", profile.file, why));
}

int add_made_buckets(TimelineBuilder& builder, const std::vector<std::vector<MadeBucket>>& steps) {
  int buckets = 0;
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (std::size_t number = 0; number < steps[i].size(); ++number, ++buckets)
      builder.add_bucket(steps[i][number], static_cast<int>(i), static_cast<int>(number));
  return buckets;
}

}  // namespace

Timeline timeline_of(const Profile& profile, double parameters) {
  return traced_steps(profile, parameters).timeline;
}

TracedSteps traced_steps(const Profile& profile, double parameters) {
  const RankSteps steps = rank_steps(profile);
  const Landmarks& marks = steps.marks;
  const PlacedWork work = steps.on_gpu ? place_gpu_work(profile, marks) : place_host_work(profile, marks);
  auto spans = collective_spans(profile, steps);
  const bool sized = tells_sizes(spans);
  if (!sized && parameters > 0) take_parameters(spans, steps, parameters);
  const auto activities = collective_activities(profile, steps);  // of the same order as spans
  const DoneByLaunch done(profile);
  Timeline timeline;
  timeline.source =
      steps.on_gpu ? "torch.profiler" + (profile.gpus.empty() ? std::string() : " on " + profile.gpus.front())
                   : "torch.profiler on a processor";
  timeline.on_processor = !steps.on_gpu;
  timeline.ranks = std::max(1, profile.world.value_or(1));
  TimelineBuilder builder(timeline, steps.steps.front().window.begin);
  const RunSteps run = run_steps(spans, steps);
  int buckets = 0, last = -1;
  Nanoseconds end = steps.steps.back().window.end;
  for (std::size_t i = 0, number = 0; i < steps.steps.size(); ++i) {
    const Interval& window = steps.steps[i].window;
    const int step = run.step_of[i];
    if (step < 0) continue;
    if (step != last) number = 0;
    last = step;
    end = window.end;
    builder.add(SpanKind::optimizer, work.optimizer, step, window);
    builder.add(SpanKind::backward, work.backward, step, window);
    builder.add(SpanKind::forward, work.forward, step, window);
    builder.add(SpanKind::other, united(work.other, work.copies), step, window);
    builder.add(SpanKind::data, without(marks.input, united(steps.computing, work.communication)), step,
                window);
    for (std::size_t j = 0; j < spans.size(); ++j)
      if (carries_gradients(spans[j], window)) {
        builder.add_bucket(spans[j], done.ready(*activities[j]), step, static_cast<int>(number++));
        ++buckets;
      }
  }
  if (buckets > 0 && sized && parameters > 0)
    throw ConfigError(fmt::format("--parameters: {} tells its gradients itself; leave it out", profile.file));
  if (buckets == 0 && spans.empty())
    buckets = add_made_buckets(builder, made_buckets(profile, steps, work, parameters));
  if (buckets == 0) refuse_profile(profile, steps, spans);
  builder.end_step(last, end);
  return {std::move(timeline), run.micro_batches};
}

}  // namespace gradwire
