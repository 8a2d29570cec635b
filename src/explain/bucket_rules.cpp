// Gradients that travel in pieces so small that each is mostly latency, and what that costs a step.
#include <fmt/format.h>

#include <algorithm>

#include "explain/landmarks.h"
#include "explain/trace_words.h"

namespace gradwire {
namespace {

// DistributedDataParallel's own words: its forward, its operators, or what it says of itself. What Gradwire recorded are its
// buckets.
bool names_ddp(const CaseFile& given, const LoopHabits& habits) {
  return given.files.profiles.empty() || habits.forwards > 0 || habits.reducer ||
         find_settings(given) != nullptr;
}

// Gradients are there when backward has begun. Tensor parallelism calls in forward too, over the same group and with as
// many bytes; where no backward is seen, as in inference, only DistributedDataParallel's name tells.
bool carries_gradients(const RunAnalysis& analysis, const CollectiveRow& row, bool named) {
  constexpr double kSome = 0.2;
  return analysis.ranks[0].has_backward ? row.forward_share < kSome : named;
}

struct SmallCalls {
  double each_step = 0;
  Bytes bytes = 0;  // of a step; 0: not known
  Seconds exposed = 0;
};

// How long one all-reduce of that many bytes takes in this run: by the line through its smallest and its largest, if these are
// far enough apart to tell what bytes cost. If not, that is lost in what calls of one size differ by: the quicker one's time.
Seconds time_in_one_call(const RunAnalysis& analysis, Bytes bytes) {
  constexpr Bytes kApart = 2;
  const CollectiveRow *small = nullptr, *large = nullptr;
  for (const CollectiveRow& row : analysis.collectives) {
    if (row.collective.kind != Collective::all_reduce || row.bytes == 0) continue;
    if (small == nullptr || row.bytes < small->bytes) small = &row;
    if (large == nullptr || row.bytes > large->bytes) large = &row;
  }
  if (small == nullptr) return 0;
  if (large->bytes < kApart * small->bytes) return std::min(small->time, large->time);
  const auto apart = [small](Bytes size) { return static_cast<double>(size - small->bytes); };
  const double slope = std::max(0.0, (large->time - small->time) / apart(large->bytes));
  return small->time + slope * apart(std::max(bytes, small->bytes));
}

// All-reduces that are mostly latency, of a step; SyncBatchNorm has its own in forward.
SmallCalls small_all_reduces(const CaseFile& given, const LoopHabits& habits) {
  constexpr Bytes kSmall = 1 << 20;
  constexpr Seconds kQuick = 2e-3;  // where sizes are not known; sockets take that long for 1 MiB
  const bool named = names_ddp(given, habits);
  SmallCalls small;
  for (const CollectiveRow& row : given.analysis->collectives) {
    if (row.collective.kind != Collective::all_reduce) continue;
    if (row.bytes > 0 ? row.bytes > kSmall : row.transfer > kQuick) continue;
    if (!habits.sync_batch_norm && !carries_gradients(*given.analysis, row, named)) continue;
    small.each_step += row.each_step;
    small.bytes += static_cast<Bytes>(static_cast<double>(row.bytes) * row.each_step);
    small.exposed += row.exposed;
  }
  return small;
}

// One call in place of many is as little hidden as the last of them was; without SyncBatchNorm there is none.
Seconds cost_of_pieces(const CaseFile& given, const LoopHabits& habits, const SmallCalls& small) {
  const double share = untraced_share(given);
  const Seconds all = std::min(small.exposed * share, communication_cost(given));
  if (habits.sync_batch_norm) return all;
  if (small.bytes == 0) return all * (1 - 1 / small.each_step);
  return std::max(0.0, all - time_in_one_call(*given.analysis, small.bytes) * share);
}

}  // namespace

void add_bucket_findings(const CaseFile& given, const LoopHabits& habits, std::vector<Finding>& findings) {
  const RunAnalysis& analysis = *given.analysis;
  const DdpSettings* settings = find_settings(given);
  const bool capped = settings != nullptr && settings->bucket_cap > 0 && settings->bucket_cap < (1 << 20);
  const SmallCalls small = small_all_reduces(given, habits);
  const double each = small.each_step;
  if (each < (capped ? 4 : 20) || small.exposed < kWorthSaying * mean_step(analysis)) return;
  const char* rule = habits.sync_batch_norm ? "R27" : "R24";
  Finding finding = communication_finding(
      rule, Severity::high,
      fmt::format("{}: {:.0f} small all-reduces a step", short_name(analysis.ranks[0].file), each),
      cost_of_pieces(given, habits, small));
  finding.cost_note = habits.sync_batch_norm ? "all that these calls expose"
                      : small.bytes > 0 ? "what these calls expose, less what one call with all of it takes"
                                        : "what these calls expose, but one of them";
  finding.what =
      habits.sync_batch_norm
          ? "SyncBatchNorm all-reduces in every layer, and every layer waits for it"
          : fmt::format("gradients travel in {:.0f} pieces a step, so small that each is mostly latency",
                        each);
  finding.fix = habits.sync_batch_norm
                    ? "plain BatchNorm if each GPU's batch is large enough; else GroupNorm"
                    : "DistributedDataParallel(model, bucket_cap_mb=25)  # the default; more on fast links";
  findings.push_back(std::move(finding));
}

}  // namespace gradwire
