#include "predict/step/from_timeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>

#include "base/error.h"
#include "trace/breakdown.h"

namespace gradwire {
namespace {

struct Recorded {
  Bytes bytes = 0;
  Seconds ready = 0;  // from the begin of the backward under which it became so
};

// The buckets of rank 0's last step, in the order they left.
std::map<int, Recorded> buckets_of(const Timeline& timeline) {
  int last = -1;
  for (const auto& span : timeline.spans)
    if (span.rank == 0 && span.kind == SpanKind::bucket) last = std::max(last, span.step);
  Seconds begin = 0;
  for (const auto& span : timeline.spans)
    if (span.rank == 0 && span.step == last && span.kind == SpanKind::backward)
      begin = std::max(begin, span.begin);
  std::map<int, Recorded> buckets;
  for (const auto& span : timeline.spans)
    if (span.rank == 0 && span.step == last && span.kind == SpanKind::bucket)
      buckets[span.bucket] = {span.bytes, std::max(0.0, span.ready - begin)};
  return buckets;
}

}  // namespace

RecordedModel model_of(const Timeline& timeline, const std::string& name) {
  const auto parts = breakdown(timeline);
  const auto buckets = buckets_of(timeline);
  if (buckets.empty())
    throw ConfigError(
        fmt::format("{}: no step has a bucket: nothing was sent, so nothing can be compared", name));
  RecordedModel model;
  model.workload.name = name;
  model.workload.title = timeline.source;
  model.workload.family = Family::other;
  model.workload.sample = "batch";
  model.workload.batch = 1;
  model.workload.source = name;
  // Work in proportion to the time between one bucket's being ready and the next's, first layer last.
  Seconds before = 0;
  for (const auto& [number, bucket] : buckets) {
    const auto took = std::max(bucket.ready - before, 1e-3 * parts.backward);
    before = std::max(before, bucket.ready);
    const double share = took / std::max(parts.backward, 1e-9);
    model.workload.layers.push_back({fmt::format("bucket {}", number),
                                     LayerKind::matmul,
                                     1e12 * share,
                                     0,
                                     {std::max<Bytes>(1, bucket.bytes / 4)}});
  }
  std::reverse(model.workload.layers.begin(), model.workload.layers.end());
  check_workload(model.workload);
  model.anchor = {parts.forward + parts.backward + parts.optimizer + parts.other, 1, 1, {}};
  return model;
}

}  // namespace gradwire
