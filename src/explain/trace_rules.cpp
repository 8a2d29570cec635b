// What traces say is wrong, with what it costs a step.
#include <fmt/format.h>

#include <algorithm>

#include "explain/case_file.h"
#include "explain/landmarks.h"
#include "explain/mixed_gpus.h"
#include "explain/trace_words.h"

namespace gradwire {
namespace {

// On a processor the loop's own thread copies gradients into buckets and back.
Seconds bucketing_cost(const CaseFile& given, const LoopHabits& habits) {
  const AnalyzedRank& rank = given.analysis->ranks[0];
  return rank.summary.on_gpu ? 0 : habits.bucketing / std::max(1, rank.steps) * untraced_share(given);
}

// Of the rank that is blamed, else of the first.
std::string file_of_verdict(const RunAnalysis& analysis) {
  for (const AnalyzedRank& rank : analysis.ranks)
    if (analysis.verdict.rank == rank.summary.rank) return short_name(rank.file);
  return short_name(analysis.ranks[0].file);
}

bool is_communication(Bottleneck bottleneck) {
  return bottleneck == Bottleneck::communication || bottleneck == Bottleneck::communication_intra ||
         bottleneck == Bottleneck::communication_inter;
}

// What holds the run up, as a finding with its cost.
void add_bottleneck(const CaseFile& given, std::vector<Finding>& findings) {
  const RunAnalysis& analysis = *given.analysis;
  const BottleneckVerdict& verdict = analysis.verdict;
  const char *rule = "R01", *fix = nullptr;
  switch (verdict.bottleneck) {
    case Bottleneck::straggler:
      rule = "R35";
      fix =
          "find what that rank does longer: its input, its GPU's clocks (nvidia-smi -q -d PERFORMANCE), a "
          "neighbour on its cores";
      if (!verdict.rank)
        fix =
            "spread the work evenly: batches of like lengths (bucket or pad by length), as many samples on "
            "every rank (DistributedSampler, drop_last=True)";
      break;
    case Bottleneck::input:
      rule = "R41";
      fix = "DataLoader(..., num_workers=4, pin_memory=True, persistent_workers=True, prefetch_factor=4)";
      break;
    case Bottleneck::launch:
      rule = "R41";
      fix =
          "torch.compile(model, mode=\"reduce-overhead\"), a larger batch, or fewer .item() and .cpu() in "
          "the loop";
      break;
    case Bottleneck::communication:
    case Bottleneck::communication_intra:
    case Bottleneck::communication_inter:
      fix =
          "gradwire compare TRACE --on A --on B  # what other links would give; else accumulation with "
          "no_sync(), bf16_compress_hook";
      break;
    default:
      return;
  }
  const double cost = verdict.figures.empty() ? 0 : verdict.figures[0].value * 1e-3;
  Finding finding = trace_finding(rule, Severity::medium, file_of_verdict(analysis), cost);
  finding.of_communication = is_communication(verdict.bottleneck);
  finding.what = verdict.reason;
  finding.fix = fix;
  if (verdict.bottleneck == Bottleneck::straggler) blame_slower_gpu(given, finding);
  findings.push_back(std::move(finding));
}

void check_synchronising(const CaseFile& given, const LoopHabits& habits, std::vector<Finding>& findings) {
  const Profile& profile = given.files.profiles[0];
  const int steps = std::max(1, habits.optimizer_steps);
  if (habits.optimizer_steps == 0 || habits.forwards < 2 * steps || habits.synced_forwards * 2 < 3 * steps)
    return;
  const double unneeded = 1 - static_cast<double>(steps) / habits.synced_forwards;
  Finding finding = communication_finding(
      "R26", Severity::high,
      fmt::format("{}: {} forwards, {} of them followed by an all-reduce, and {} steps of the optimizer",
                  short_name(profile.file), habits.forwards, habits.synced_forwards, habits.optimizer_steps),
      (communication_cost(given) + bucketing_cost(given, habits)) * unneeded);
  finding.what = fmt::format(
      "gradients are all-reduced {:.1f} times for each step of the optimizer: accumulation without no_sync()",
      static_cast<double>(habits.synced_forwards) / steps);
  finding.fix =
      "with model.no_sync() if not last else nullcontext():  # around forward and backward of all "
      "micro-batches but the last";
  findings.push_back(std::move(finding));
}

// The map of used parameters that every rank sends right after its gradients; ranks that wait for each other there would
// wait without it too.
Seconds used_map_cost(const CaseFile& given) {
  const DdpSettings* settings = find_settings(given);
  Seconds exposed = 0;
  for (const CollectiveRow& row : given.analysis->collectives)
    if (settings != nullptr && row.collective.kind == Collective::all_reduce &&
        row.bytes == used_map_bytes(*settings))
      exposed += std::max(0.0, row.exposed - row.wait * row.each_step);
  return exposed;
}

void check_search(const CaseFile& given, const LoopHabits& habits, std::vector<Finding>& findings) {
  if (habits.searches == 0) return;
  const Profile& profile = given.files.profiles[0];
  const DdpSettings* settings = find_settings(given);
  if (settings != nullptr && settings->unused_parameters.value_or(0) > 0) return;  // it is needed
  const Seconds search = habits.searching / std::max(1, given.analysis->ranks[0].steps);
  const Seconds cost = search + used_map_cost(given);
  Finding finding = communication_finding(
      "R25", cost > kWorthSaying * mean_step(*given.analysis) ? Severity::high : Severity::medium,
      fmt::format("{}: search_unused_parameters, {} times", short_name(profile.file), habits.searches), cost);
  finding.cost_note = cost > search ? "the search, and sending the map of used parameters"
                                    : "the search alone; the first all-reduce waits for it too";
  finding.what =
      "DistributedDataParallel looks for unused parameters every step (find_unused_parameters=True)";
  if (settings != nullptr && settings->unused_parameters) finding.what += ", and there are none";
  finding.fix = "find_unused_parameters=False; if that fails, static_graph=True";
  findings.push_back(std::move(finding));
}

// On a processor a forward gathers its buffers, sends them and hands them out before the model begins; what a rank waits
// there for one that comes later it would wait for anyway, so the one that does it quickest counts. Nothing where a trace
// does not tell.
std::optional<Seconds> find_buffering(const CaseFile& given) {
  std::optional<Seconds> least;
  for (const Profile& profile : given.files.profiles) {
    const LoopHabits habits = loop_habits(profile);
    if (habits.buffered == 0 || given.analysis->ranks[0].summary.on_gpu) return std::nullopt;
    const Seconds each = habits.buffering / std::max(1, given.analysis->ranks[0].steps);
    least = std::min(least.value_or(each), each);
  }
  return least;
}

// A loop may broadcast anything: buffers are what a forward of DistributedDataParallel does, and no whole numbers.
bool broadcasts_buffers(const CaseFile& given, const LoopHabits& habits) {
  if (find_settings(given) != nullptr) return true;
  return habits.forwards > 0 && (habits.broadcasts == 0 || habits.forward_broadcasts > 0);
}

void check_broadcasts(const CaseFile& given, const LoopHabits& habits, std::vector<Finding>& findings) {
  if (!broadcasts_buffers(given, habits)) return;
  const RunAnalysis& analysis = *given.analysis;
  Seconds exposed = 0;
  double each_step = 0;
  for (const CollectiveRow& row : analysis.collectives)
    if (row.collective.kind == Collective::broadcast && !row.whole_numbers) {
      exposed += row.exposed;
      each_step += row.each_step;
    }
  const Seconds cost = find_buffering(given).value_or(exposed);
  if (each_step < 1 || cost < kWorthSaying * mean_step(analysis)) return;
  Finding finding = communication_finding(
      "R27", Severity::high,
      fmt::format("{}: {:.1f} broadcasts a step", short_name(analysis.ranks[0].file), each_step), cost);
  finding.what = "buffers (statistics of BatchNorm) are broadcast before every forward";
  finding.fix =
      "DistributedDataParallel(model, broadcast_buffers=False)  # where ranks may keep their own, or "
      "SyncBatchNorm keeps them equal";
  findings.push_back(std::move(finding));
}

// Tensors on a GPU that gloo carries go down to the processor, over its sockets, and up again.
void check_gloo_under_gpus(const RunAnalysis& analysis, const Profile& profile,
                           std::vector<Finding>& findings) {
  const auto gloo = std::find_if(profile.names.begin(), profile.names.end(),
                                 [](const auto& name) { return name.starts_with("gloo:all_reduce"); });
  const bool nccl = std::any_of(profile.activities.begin(), profile.activities.end(),
                                [](const Activity& one) { return one.kind == ActivityKind::communication; });
  if (gloo == profile.names.end() || nccl || !analysis.ranks[0].summary.on_gpu ||
      mean_exposed(analysis) < kWorthSaying * mean_step(analysis))
    return;
  Finding finding = communication_finding(
      "R32", Severity::high, fmt::format("{}: {} and no kernel of NCCL", short_name(profile.file), *gloo),
      mean_exposed(analysis));
  finding.cost_note = "all that is exposed: the most that NCCL can give";
  finding.what = "gradients on GPUs are all-reduced by gloo, through the processor and its sockets";
  finding.fix = "torch.distributed.init_process_group(\"nccl\")";
  findings.push_back(std::move(finding));
}

}  // namespace

void add_trace_findings(const CaseFile& given, Diagnosis& diagnosis) {
  if (!given.analysis || given.analysis->ranks.empty()) return;
  const RunAnalysis& analysis = *given.analysis;
  LoopHabits habits;
  if (!given.files.profiles.empty()) {
    habits = loop_habits(given.files.profiles[0]);
    check_synchronising(given, habits, diagnosis.findings);
    check_search(given, habits, diagnosis.findings);
    check_gloo_under_gpus(analysis, given.files.profiles[0], diagnosis.findings);
  }
  add_bucket_findings(given, habits, diagnosis.findings);
  check_broadcasts(given, habits, diagnosis.findings);
  add_link_findings(given, diagnosis.findings);
  add_bottleneck(given, diagnosis.findings);
}

}  // namespace gradwire
