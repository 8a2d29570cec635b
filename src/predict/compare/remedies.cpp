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
  Change change;
  StepOptions options;
};

bool fits(const Workload& workload, const Machine& machine, StepOptions options, int batch) {
  options.batch = batch;
  return !find_misfit(workload, machine, options);
}

std::vector<Attempt> attempts(const Workload& workload, const Contender& contender,
                              const StepOptions& given) {
  std::vector<Attempt> all;
  const auto add = [&](Change change, auto make) {
    all.push_back({change, given});
    make(all.back().options);
  };
  const int batch = given.batch > 0 ? given.batch : workload.batch;
  if (given.accumulate <= kMostBatch / 4) add(Change::accumulate, [](auto& o) { o.accumulate *= 4; });
  if (batch <= kMostBatch / 2 && fits(workload, contender.machine, given, 2 * batch))
    add(Change::batch, [&](auto& o) { o.batch = 2 * batch; });
  for (const Bytes size : {5, 50, 100})
    add(Change::bucket, [&](auto& o) {
      o.buckets.rest = size * kMebi;
      o.buckets.first = BucketCaps{}.first;
    });
  if (given.compression == Compression::none && given.gradient_bytes == 4)
    add(Change::compression, [](auto& o) { o.compression = Compression::fp16; });
  if (given.compression == Compression::none)
    add(Change::compression, [](auto& o) { o.compression = Compression::powersgd; });
  const auto& gpu = contender.machine.gpu;
  // Of a recorded run whose precision nobody knows another may be no other.
  const bool known = !given.anchor || !given.anchor->recorded || given.anchor->precision;
  const auto compute_in = [&](Precision faster, double at_least) {
    if (!known) return;
    if (peak_of(gpu, faster).flops <= at_least * peak_of(gpu, given.precision).flops) return;
    add(Change::precision, [&](auto& o) {
      o.precision = faster;
      if (o.anchor && !o.anchor->precision) o.anchor->precision = given.precision;
    });
  };
  compute_in(gpu.bf16_flops > 0 ? Precision::bf16 : Precision::fp16, 1.5);
  if (given.precision == Precision::fp32 && gpu.tf32_flops > 0) compute_in(Precision::tf32, 1);
  if (given.overlap == false) add(Change::overlap, [](auto& o) { o.overlap = true; });
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

// One of such changes is advice enough: the best, which comes first.
void keep_first(std::vector<Remedy>& remedies, std::initializer_list<Change> changes) {
  const auto is_it = [&](const Remedy& remedy) {
    return std::ranges::find(changes, remedy.change) != changes.end();
  };
  const auto best = std::ranges::find_if(remedies, is_it);
  if (best != remedies.end()) remedies.erase(std::remove_if(best + 1, remedies.end(), is_it), remedies.end());
}

}  // namespace

std::vector<Remedy> find_remedies(const Workload& workload, const Contender& contender,
                                  const StepOptions& given, const StepModel& model) {
  std::vector<Remedy> remedies;
  if (contender.wires.ranks == 1) return remedies;
  const auto add = [&](Remedy remedy, const StepEstimate& estimate) {
    remedy.speedup = estimate.samples_per_s / contender.estimate.samples_per_s;
    if (remedy.speedup >= kWorthwhile) remedies.push_back(std::move(remedy));
  };
  for (const auto& [change, options] : attempts(workload, contender, given))
    add({change, options}, estimate_step(workload, contender.machine.gpu, contender.wires, options, model));
  for (const Backend backend : other_backends(contender.machine, given)) {
    auto options = given;
    options.backend = backend;
    add({Change::backend, options}, contend(workload, contender.machine, options, model).estimate);
  }
  for (const auto& [change, count, machine] : rearrangements_of(contender.machine))
    add({change, given, count}, contend(workload, machine, given, model).estimate);
  std::ranges::stable_sort(remedies, std::greater{}, &Remedy::speedup);
  keep_first(remedies, {Change::bucket});
  keep_first(remedies, {Change::one_switch, Change::one_socket});
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
  const auto walk = [&](Change of, int start, int end, double factor) {
    for (double value = start; factor > 1 ? value <= end : value >= end; value *= factor) {
      auto options = given;
      (of == Change::batch ? options.batch : options.accumulate) = static_cast<int>(value);
      const auto answer = answer_with(options);
      if (answer.verdict == now) continue;
      turns.push_back({of, factor < 1, static_cast<int>(value), answer.verdict, answer.speedup,
                       fits(workload, better.machine, options, options.batch) &&
                           fits(workload, worse.machine, options, options.batch)});
      return;
    }
  };
  const int batch = given.batch > 0 ? given.batch : workload.batch;
  if (batch <= kMostBatch / 2)
    walk(Change::batch, 2 * batch,
         std::min(kMostBatch, std::max(4096, 64 * std::min(batch, kMostBatch / 64))), 2);
  if (batch > 1) walk(Change::batch, batch / 2, 1, 0.5);
  walk(Change::accumulate, 2 * given.accumulate, 256, 2);
  return turns;
}

}  // namespace gradwire
