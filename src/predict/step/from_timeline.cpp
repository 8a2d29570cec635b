#include "predict/step/from_timeline.h"

#include <fmt/format.h>

#include <algorithm>

#include "predict/step/recorded.h"

namespace gradwire {

RecordedModel model_of(const Timeline& timeline, const std::string& name) {
  const auto recorded = recorded_step(timeline, name);
  const auto& parts = recorded.parts;
  RecordedModel model;
  model.workload.name = name;
  model.workload.title = timeline.source;
  model.workload.family = Family::other;
  model.workload.sample = "batch";
  model.workload.batch = 1;
  model.workload.source = name;
  // Work in proportion to the time between one bucket's being ready and the next's, first layer last.
  double before = 0;
  for (int number = 0; const auto& bucket : recorded.buckets) {
    const double share = std::max(bucket.ready - before, 1e-3);
    before = std::max(before, bucket.ready);
    model.workload.layers.push_back({fmt::format("bucket {}", number++),
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
