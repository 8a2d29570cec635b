#include "predict/step/recorded.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <map>
#include <memory>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "predict/step/constants.h"
#include "predict/step/step.h"

namespace gradwire {
namespace {

using Spans = std::vector<const Span*>;

double middle(std::vector<double> values, double share = 0.5) {
  if (values.empty()) return 0;
  std::sort(values.begin(), values.end());
  return values[static_cast<std::size_t>(share * static_cast<double>(values.size() - 1) + 0.5)];
}

// Backward up to a moment, over all micro-batches of a step.
Seconds backward_before(const Spans& spans, Seconds moment) {
  Seconds sum = 0;
  for (const Span* span : spans)
    if (span->kind == SpanKind::backward) sum += std::max(0.0, std::min(span->end, moment) - span->begin);
  return sum;
}

std::map<int, RecordedBucket> buckets_of(const Spans& spans) {
  const Seconds whole = backward_before(spans, 1e300);
  std::map<int, RecordedBucket> buckets;
  for (const Span* span : spans)
    if (span->kind == SpanKind::bucket && whole > 0)
      buckets[span->bucket] = {span->bytes, backward_before(spans, span->ready) / whole};
  return buckets;
}

std::map<int, Spans> steps_of_rank_0(const Timeline& timeline) {
  std::map<int, Spans> steps;
  for (const Span& span : timeline.spans)
    if (span.rank == 0) steps[span.step].push_back(&span);
  return steps;
}

// Buckets as in the last step, each ready where it was in the median of the steps that had them.
std::vector<RecordedBucket> usual_buckets(const Timeline& timeline) {
  std::vector<std::map<int, RecordedBucket>> all;
  for (const auto& [step, spans] : steps_of_rank_0(timeline))
    if (auto buckets = buckets_of(spans); !buckets.empty()) all.push_back(std::move(buckets));
  std::vector<RecordedBucket> usual;
  if (all.empty()) return usual;
  for (const auto& [number, last] : all.back()) {
    std::vector<double> ready;
    for (const auto& buckets : all)
      if (const auto same = buckets.find(number); same != buckets.end() && same->second.bytes == last.bytes)
        ready.push_back(same->second.ready);
    usual.push_back({last.bytes, middle(ready)});
  }
  return usual;
}

// Lengths of all steps but the first, which warms up, by step.
std::map<int, std::vector<double>> lengths_of(const Timeline& timeline) {
  std::map<int, std::vector<double>> lengths;
  for (const auto& step : step_parts(timeline)) lengths[step.step].push_back(step.parts.step());
  if (lengths.size() > 1) lengths.erase(lengths.begin());
  return lengths;
}

double quartile_share(const std::vector<double>& all) {
  return (middle(all, 0.75) - middle(all, 0.25)) / 2 / middle(all);
}

void measure_spread(const Timeline& timeline, RecordedStep& recorded) {
  std::vector<double> slowest, all;
  for (const auto& [step, lengths] : lengths_of(timeline)) {
    slowest.push_back(*std::max_element(lengths.begin(), lengths.end()));
    all.insert(all.end(), lengths.begin(), lengths.end());
  }
  recorded.slowest = middle(slowest);
  recorded.unsteady = quartile_share(all);
}

std::function<Seconds(Bytes)> at(Curve curve) {
  return [curve = std::make_shared<const Curve>(std::move(curve))](Bytes bytes) { return curve->at(bytes); };
}

}  // namespace

RecordedStep recorded_step(const Timeline& timeline, const std::string& name) {
  if (is_rehearsal(timeline))
    throw ConfigError(fmt::format(
        "{}: it is a rehearsal of ranks that share a model, and can be replayed over measured wires: "
        "write `gradwire train {} --on BENCH.json`",
        name, name));
  RecordedStep recorded;
  recorded.parts = breakdown(timeline);
  recorded.buckets = usual_buckets(timeline);
  recorded.ranks = timeline.ranks;
  recorded.samples = std::max(1, timeline.samples);
  if (recorded.buckets.empty())
    throw ConfigError(
        fmt::format("{}: no step has a bucket: nothing was sent, so nothing can be compared", name));
  measure_spread(timeline, recorded);
  return recorded;
}

bool was_disturbed(const RecordedStep& recorded) {
  return recorded.parts.comm_overlapped + recorded.parts.comm_exposed >= 0.01 * recorded.parts.step();
}

double unsteadiness(const Timeline& timeline) {
  std::vector<double> all;
  for (const auto& [step, lengths] : lengths_of(timeline))
    all.insert(all.end(), lengths.begin(), lengths.end());
  return all.empty() ? 0 : quartile_share(all);
}

StepProblem recorded_problem(const RecordedStep& recorded, const Wires& wires, bool overlap) {
  StepProblem problem;
  problem.options.batch = recorded.samples;
  problem.options.overlap = overlap;
  problem.options.data = recorded.parts.data;
  problem.options.anchor = Anchor{recorded.parts.step(), recorded.samples, 1, {}};
  problem.ranks = wires.ranks;
  problem.nodes = wires.nodes;
  problem.on_processor = static_cast<bool>(wires.processor);
  problem.wire_error = wires.relative_error;
  problem.unsteady = recorded.unsteady;
  problem.forward = recorded.parts.forward;
  problem.backward = recorded.parts.backward;
  problem.optimizer = recorded.parts.optimizer;
  problem.between = recorded.parts.other;
  for (const auto& bucket : recorded.buckets) {
    const Seconds time = wires.ranks > 1 ? wires.all_reduce(bucket.bytes) : 0;
    ReadyBucket one{bucket.bytes, bucket.ready, time};
    if (wires.processor && time > 0) one.slowdown = std::min(1.0, wires.processor(bucket.bytes) / time);
    problem.buckets.push_back(one);
    problem.gradient_bytes += bucket.bytes;
  }
  return problem;
}

StepConstants recorded_constants(const RecordedStep& recorded) {
  StepConstants constants;
  const auto& parts = recorded.parts;
  const auto computing = parts.forward + parts.backward + parts.optimizer;
  const auto most = expected_maximum(recorded.ranks) * computing;
  if (most > 0) constants.spread_share = std::max(0.0, recorded.slowest - parts.step()) / most;
  return constants;
}

RecordedModel model_of(const Timeline& timeline, const std::string& name) {
  const auto recorded = recorded_step(timeline, name);
  const auto& parts = recorded.parts;
  RecordedModel model;
  model.on_processor = timeline.on_processor;
  model.workload.name = name;
  model.workload.title = timeline.source;
  model.workload.family = Family::other;
  model.workload.sample = timeline.samples > 0 ? "sample" : "batch";
  model.workload.batch = recorded.samples;
  model.workload.source = name;
  // Work in proportion to the time between one bucket's being ready and the next's, first layer last.
  double before = 0;
  for (int number = 0; const auto& bucket : recorded.buckets) {
    const double share = std::max(bucket.ready - before, 1e-3);
    before = std::max(before, bucket.ready);
    model.workload.layers.push_back({fmt::format("bucket {}", number++),
                                     LayerKind::matmul,
                                     1e12 * share / recorded.samples,
                                     0,
                                     {std::max<Bytes>(1, bucket.bytes / 4)}});
  }
  if (before < 1)
    model.workload.layers.push_back(
        {"after the last bucket", LayerKind::matmul, 1e12 * (1 - before) / recorded.samples, 0, {}});
  std::reverse(model.workload.layers.begin(), model.workload.layers.end());
  check_workload(model.workload);
  const Seconds computing = parts.forward + parts.backward + parts.optimizer + parts.other;
  model.anchor = {computing, recorded.samples, 1, {}, parts};
  return model;
}

bool is_sweep(std::string_view on) { return on.ends_with(".json"); }

std::vector<Sweep> read_sweep_files(std::string_view on) {
  std::vector<Sweep> all;
  for (const auto file : split(on, ',')) {
    try {
      for (auto& sweep : read_sweeps(read_file(std::filesystem::path(file)))) all.push_back(std::move(sweep));
    } catch (const ConfigError& error) {
      throw ConfigError(fmt::format("{}: {}", file, error.what()));
    }
  }
  return all;
}

Sweep read_sweep(std::string_view on, std::string_view backend, std::optional<int> ranks) {
  std::vector<std::string> there;
  std::vector<Sweep> fitting;
  for (auto& sweep : read_sweep_files(on)) {
    if (sweep.collective != Collective::all_reduce) continue;
    there.push_back(fmt::format("{} with {} ranks", sweep.backend, sweep.ranks));
    const bool fits = (backend.empty() || sweep.backend == backend) && (!ranks || sweep.ranks == *ranks);
    if (fits) fitting.push_back(std::move(sweep));
  }
  if (fitting.size() == 1) return fitting.front();
  throw ConfigError(fmt::format(
      "{}: it has all_reduce of {}; {}", on, there.empty() ? "no backend" : join(there, ", "),
      fitting.empty() ? "none is what --backend and -n ask for" : "choose one with --backend and -n"));
}

Wires measured_wires(const Sweep& sweep) {
  auto curve = fit_curve(sweep.samples);
  Wires wires;
  wires.ranks = sweep.ranks;
  wires.relative_error = curve.error().mean;
  wires.algorithm = sweep.backend;
  wires.narrowest.by = Holdup::measured;
  wires.all_reduce = at(std::move(curve));
  wires.processor = at(fit_curve(sweep.processor));
  return wires;
}

}  // namespace gradwire
