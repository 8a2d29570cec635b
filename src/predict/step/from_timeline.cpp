
#include <fmt/format.h>

#include <algorithm>

#include "predict/step/constants.h"
#include "predict/step/recorded.h"

namespace gradwire {

RecordedModel model_of(const Timeline& timeline, const std::string& name) {
  const auto recorded = recorded_step(timeline, name);
  const auto& parts = recorded.parts;
  RecordedModel model;
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
  std::reverse(model.workload.layers.begin(), model.workload.layers.end());
  check_workload(model.workload);
  // Collectives under backward slowed it, by as much as they do where data goes from GPU to GPU.
  const auto slowed = default_step_constants().slowdown_direct * parts.comm_overlapped;
  const auto backward = std::max(parts.backward - slowed, 0.2 * parts.backward);
  model.anchor = {parts.forward + backward + parts.optimizer + parts.other, recorded.samples, 1, {}};
  return model;
}

}  // namespace gradwire
