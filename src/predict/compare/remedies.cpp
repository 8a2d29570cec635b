#include <fmt/format.h>

#include <algorithm>
#include <functional>

#include "predict/backends/own.h"
#include "predict/compare/compare.h"

// Other things to change, found by trying each; and where the answer turns, found by walking there.
namespace gradwire {
namespace {

constexpr double kWorthwhile = 1.02;  // less drowns in what steps vary by
constexpr Bytes kMebi = Bytes{1} << 20;
constexpr int kMostBatch = 1 << 20;  // and accumulation: advice beyond what flags take could not be followed

struct Attempt {
  std::string what, note;
  StepOptions options;
};

bool fits(const Workload& workload, const Machine& machine, StepOptions options, int batch) {
  options.batch = batch;
  return !find_misfit(workload, machine, options);
}

std::vector<Attempt> attempts(const Workload& workload, const Contender& contender,
                              const StepOptions& given) {
  std::vector<Attempt> all;
  const auto add = [&](std::string what, std::string note, auto change) {
    Attempt attempt{std::move(what), std::move(note), given};
    change(attempt.options);
    all.push_back(std::move(attempt));
  };
  const int batch = given.batch > 0 ? given.batch : workload.batch;
  // A flag is named with what must be written instead of what was given; a measured step stays what it was.
  const std::string measured = given.anchor ? "; reckoned from the step you measured" : "";
  if (given.accumulate <= kMostBatch / 4)
    add(fmt::format("--accumulate {}", 4 * given.accumulate), "4 times the samples between updates",
        [](auto& o) { o.accumulate *= 4; });
  if (batch <= kMostBatch / 2 && fits(workload, contender.machine, given, 2 * batch))
    add(fmt::format("--batch {}", 2 * batch), "if it fits the GPU's memory" + measured,
        [&](auto& o) { o.batch = 2 * batch; });
  for (const Bytes size : {5, 50, 100})
    add(fmt::format("--bucket-mb {}", size), "same result", [&](auto& o) {
      o.buckets.rest = size * kMebi;
      o.buckets.first = BucketCaps{}.first;
    });
  if (given.compression == Compression::none && given.gradient_bytes == 4)
    add("--compress fp16", "gradients rounded to fp16 on the wire",
        [](auto& o) { o.compression = Compression::fp16; });
  if (given.compression == Compression::none)
    add("--compress powersgd", "lossy: rank-1 gradients",
        [](auto& o) { o.compression = Compression::powersgd; });
  const auto& gpu = contender.machine.gpu;
  const auto compute_in = [&](Precision faster, double at_least, const std::string& note) {
    if (peak_of(gpu, faster).flops <= at_least * peak_of(gpu, given.precision).flops) return;
    add(fmt::format("--precision {}", name_of(faster)), note + measured, [&](auto& o) {
      o.precision = faster;
      if (o.anchor && !o.anchor->precision) o.anchor->precision = given.precision;
    });
  };
  compute_in(gpu.bf16_flops > 0 ? Precision::bf16 : Precision::fp16, 1.5, "computing; gradients as before");
  if (given.precision == Precision::fp32 && gpu.tf32_flops > 0)
    compute_in(Precision::tf32, 1, "matrix products rounded to TF32");
  if (given.overlap == false)
    add("without --no-overlap", "all-reduce under backward", [](auto& o) { o.overlap = true; });
  return all;
}

// What could replace a backend on hosts. NCCL is what everything else would be replaced by.
std::vector<Backend> other_backends(const Machine& machine, const StepOptions& given) {
  if (given.backend == Backend::nccl) return {};
  std::vector<Backend> others = {Backend::nccl};
  if (is_own(given.backend)) others.push_back(machine.nodes > 1 ? Backend::shm_tcp : Backend::shm);
  std::erase(others, given.backend);
  return others;
}

void keep_first(std::vector<Remedy>& remedies, std::string_view kind) {
  const auto is_it = [&](const Remedy& remedy) { return remedy.what.starts_with(kind); };
  const auto best = std::ranges::find_if(remedies, is_it);
  if (best != remedies.end()) remedies.erase(std::remove_if(best + 1, remedies.end(), is_it), remedies.end());
}

}  // namespace

std::vector<Remedy> find_remedies(const Workload& workload, const Contender& contender,
                                  const StepOptions& given, const StepModel& model) {
  std::vector<Remedy> remedies;
  if (contender.wires.ranks == 1) return remedies;
  const auto add = [&](const std::string& what, const std::string& note, const StepEstimate& estimate) {
    const double speedup = estimate.samples_per_s / contender.estimate.samples_per_s;
    if (speedup >= kWorthwhile) remedies.push_back({what, speedup, note});
  };
  for (const auto& attempt : attempts(workload, contender, given))
    add(attempt.what, attempt.note,
        estimate_step(workload, contender.machine.gpu, contender.wires, attempt.options, model));
  for (const Backend backend : other_backends(contender.machine, given)) {
    auto options = given;
    options.backend = backend;
    add("--backend " + to_string(backend),
        backend == Backend::nccl ? "made for GPUs" : "joins gradients in host memory",
        contend(workload, contender.machine, options, model).estimate);
  }
  for (const auto& other : rearrangements_of(contender.machine))
    add(other.what, other.note, contend(workload, other.machine, given, model).estimate);
  std::ranges::stable_sort(remedies, std::greater{}, &Remedy::speedup);
  keep_first(remedies, "--bucket");  // one bucket size is advice enough
  keep_first(remedies, "GPUs on");   // and one place
  return remedies;
}

std::vector<Turn> find_turns(const Workload& workload, const Contender& better, const Contender& worse,
                             const StepOptions& given, const StepModel& model) {
  const auto answer_with = [&](const StepOptions& options) {
    auto a = better, b = worse;
    a.estimate = estimate_step(workload, a.machine.gpu, a.wires, options, model);
    b.estimate = estimate_step(workload, b.machine.gpu, b.wires, options, model);
    return judge(workload, a, b, options, model);
  };
  const auto now = answer_with(given).verdict;
  std::vector<Turn> turns;
  const auto walk = [&](int start, int end, double factor, auto set, std::string_view what) {
    for (double value = start; factor > 1 ? value <= end : value >= end; value *= factor) {
      auto options = given;
      set(options, static_cast<int>(value));
      const auto answer = answer_with(options);
      if (answer.verdict == now) continue;
      turns.push_back({fmt::format("{} {}", what, static_cast<int>(value)), answer.verdict, answer.speedup,
                       fits(workload, better.machine, options, options.batch) &&
                           fits(workload, worse.machine, options, options.batch)});
      return;
    }
  };
  const auto set_batch = [](StepOptions& options, int value) { options.batch = value; };
  const int batch = given.batch > 0 ? given.batch : workload.batch;
  if (batch <= kMostBatch / 2)
    walk(2 * batch, std::min(kMostBatch, std::max(4096, 64 * std::min(batch, kMostBatch / 64))), 2, set_batch,
         "from batch");
  if (batch > 1) walk(batch / 2, 1, 0.5, set_batch, "down to batch");
  walk(
      2 * given.accumulate, 256, 2, [](StepOptions& options, int value) { options.accumulate = value; },
      "from accumulation");
  return turns;
}

}  // namespace gradwire
