#include "predict/nccl/all_reduce.h"

#include <fmt/format.h>

#include "predict/nccl/choice.h"

namespace gradwire {
namespace {

constexpr Bytes kLarge = 1000 * 1000;  // where expected errors change from small to large

// The network holds up an all-reduce between nodes if it is slower than the rings inside.
std::string narrowest(const NcclFabric& fabric) {
  const bool network = fabric.nodes > 1 && (fabric.node_gbps == 0 || fabric.network_gbps < fabric.node_gbps);
  return network ? "network: " + fabric.network_name : fabric.narrowest;
}

}  // namespace

NcclModel::NcclModel(const Machine& machine, const Calibration& calibration, const NcclSettings& settings)
    : fabric_(nccl_fabric(machine, settings)),
      settings_(settings),
      terms_(nccl_terms(fabric_, settings)),
      path_(path_name(fabric_)),
      narrowest_(narrowest(fabric_)) {
  const CalibrationClasses classes = nccl_classes(fabric_);
  correction_ = calibration.find(classes);
  error_ = calibration.expected_error(classes.scope);
}

Seconds NcclModel::all_reduce_time(Bytes bytes) const {
  if (fabric_.ranks == 1 || bytes == 0) return 0;
  return corrected_time(terms_.latency, static_cast<double>(bytes) / terms_.bytes_per_s, correction_);
}

// `share` of an all-reduce's time, `bus_factor` as nccl-tests defines it for the collective.
AllReduceEstimate NcclModel::estimate(Bytes bytes, double share, double bus_factor) const {
  AllReduceEstimate estimate;
  estimate.algorithm = "none";
  if (fabric_.ranks == 1 || bytes == 0) return estimate;
  const NcclChoice choice = nccl_choice(fabric_, settings_, bytes);
  estimate.time = share * all_reduce_time(bytes);
  estimate.bus_gbps = static_cast<double>(bytes) / estimate.time * bus_factor / 1e9;
  estimate.algorithm = to_string(choice.algorithm);
  estimate.protocol = to_string(choice.protocol);
  estimate.path = path_;
  estimate.channels = choice.channels;
  estimate.narrowest_link = narrowest_;
  estimate.relative_error = bytes < kLarge ? error_.below_1mb : error_.from_1mb;
  return estimate;
}

AllReduceEstimate NcclModel::all_reduce(Bytes bytes) const {
  const double n = fabric_.ranks;
  return estimate(bytes, 1, 2 * (n - 1) / n);
}

// Half the steps of a ring all-reduce, half the bytes.
AllReduceEstimate NcclModel::reduce_scatter(Bytes bytes) const {
  const double n = fabric_.ranks;
  return estimate(bytes, 0.5, (n - 1) / n);
}

AllReduceEstimate NcclModel::all_gather(Bytes bytes) const { return reduce_scatter(bytes); }

// A pipelined ring sends the buffer once over every hop: n / (2(n-1)) of an all-reduce.
AllReduceEstimate NcclModel::broadcast(Bytes bytes) const {
  const double n = fabric_.ranks;
  return estimate(bytes, n > 1 ? n / (2 * (n - 1)) : 0, 1);
}

}  // namespace gradwire
