#include "predict/nccl/all_reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "predict/nccl/choice.h"
#include "predict/nccl/own.h"

namespace gradwire {
namespace {

// The network holds up an all-reduce between nodes if it is slower than the rings inside.
std::string narrowest(const NcclFabric& fabric, const NcclPrice& price, const Topology& topology) {
  const bool inside = fabric.ranks_per_node > 1;
  if (fabric.nodes > 1 && (!inside || price.network_gbps() < price.rings().gbps))
    return "network: " + fabric.network_name;
  if (!inside) return "";
  const auto index = price.rings().narrowest;
  const double load = load_of(fabric.rings, index);
  const std::string name = resource_name(topology, fabric.rings.resources[index]);
  return load == 1 ? name : fmt::format("{}: crossed {:g} times by every byte", name, load);
}

}  // namespace

NcclModel::NcclModel(const Machine& machine, const Calibration& calibration, const NcclSettings& settings)
    : fabric_(nccl_fabric(machine, settings)),
      predictor_(fabric_, own_calibration(machine, calibration)),
      path_(path_name(fabric_)),
      narrowest_(narrowest(fabric_, predictor_.price(), machine.topology)) {}

Seconds NcclModel::all_reduce_time(Bytes bytes) const { return predictor_.time(bytes); }

// `share` of an all-reduce's time, `bus_factor` as nccl-tests defines it for the collective.
AllReduceEstimate NcclModel::estimate(Bytes bytes, double share, double bus_factor) const {
  AllReduceEstimate estimate;
  estimate.algorithm = "none";
  if (fabric_.ranks == 1 || bytes == 0) return estimate;
  const NcclChoice choice = predictor_.choice(bytes);
  const double width = doubt(bytes).width();
  estimate.time = share * predictor_.time(bytes);
  estimate.low = estimate.time / width;
  estimate.high = estimate.time * width;
  estimate.bus_gbps = static_cast<double>(bytes) / estimate.time * bus_factor / 1e9;
  estimate.algorithm = to_string(choice.algorithm);
  estimate.protocol = to_string(choice.protocol);
  estimate.path = path_;
  estimate.channels = choice.channels;
  estimate.narrowest_link = narrowest_;
  estimate.relative_error = (width - 1 / width) / 2;
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

std::vector<ResourceLoad> NcclModel::loads() const {
  std::vector<ResourceLoad> loads;
  const auto room = [](const ResourceLoad& one) { return one.capacity_gbps / one.load; };
  for (std::size_t i = 0; i < fabric_.rings.resources.size(); ++i) {
    const Resource& resource = fabric_.rings.resources[i];
    const ResourceLoad one{std::string(to_string(resource.kind)), load_of(fabric_.rings, i),
                           capacity_of(resource, predictor_.calibration().values, fabric_.sm)};
    const auto same = std::ranges::find(loads, one.name, &ResourceLoad::name);
    if (same == loads.end())
      loads.push_back(one);
    else if (room(one) < room(*same))
      *same = one;
  }
  std::ranges::stable_sort(loads, {}, room);
  return loads;
}

}  // namespace gradwire
