#include "predict/nccl/all_reduce.h"

#include "predict/nccl/own.h"

namespace gradwire {

NcclModel::NcclModel(const Machine& machine, const Calibration& calibration, const NcclSettings& settings)
    : fabric_(nccl_fabric(machine, settings)),
      predictor_(fabric_, own_calibration(machine, calibration)),
      narrowest_(find_narrowest(fabric_, predictor_.price(), machine.topology)) {}

Seconds NcclModel::all_reduce_time(Bytes bytes) const { return predictor_.time(bytes); }

AllReduceEstimate estimate_of(const NcclFabric& fabric, const NcclPredictor& predictor, Bytes bytes) {
  AllReduceEstimate estimate;
  estimate.algorithm = "none";
  if (fabric.ranks == 1 || bytes == 0) return estimate;
  const NcclChoice choice = predictor.choice(bytes);
  estimate.doubt = predictor.doubt(bytes);
  set_time(estimate, predictor.time(bytes), estimate.doubt.width());
  estimate.bus_gbps =
      static_cast<double>(bytes) / estimate.time * bus_factor(predictor.kind(), fabric.ranks) / 1e9;
  estimate.algorithm = to_string(choice.algorithm);
  estimate.as_smaller = predictor.as_smaller(bytes);
  estimate.protocol = to_string(choice.protocol);
  estimate.way = way_of(fabric);
  estimate.channels = choice.channels;
  return estimate;
}

void set_time(AllReduceEstimate& estimate, Seconds time, double width) {
  estimate.time = time;
  estimate.low = time / width;
  estimate.high = time * width;
  estimate.relative_error = (width - 1 / width) / 2;
}

AllReduceEstimate NcclModel::all_reduce(Bytes bytes) const {
  AllReduceEstimate estimate = estimate_of(fabric_, predictor_, bytes);
  if (estimate.time > 0) estimate.narrowest = narrowest_;
  return estimate;
}

std::vector<ResourceLoad> NcclModel::loads() const { return resource_loads(fabric_, constants()); }

}  // namespace gradwire
