#include "predict/nccl/all_reduce.h"

#include <fmt/format.h>

#include <algorithm>

#include "predict/nccl/own.h"
#include "predict/nccl/price.h"

namespace gradwire {

namespace {

std::string network_words(const NcclFabric& fabric, const NcclPrice& price) {
  switch (price.network_limit()) {
    case NetworkLimit::copies:
      return fmt::format(
          "{}, {:.3g} GB/s, to the network: {}",
          fabric.detour == Detour::sockets ? "GPUDirect across sockets" : "copies through host memory",
          price.network_gbps(), fabric.network_name);
    case NetworkLimit::slots:
      return "PCIe slots on the way to the network: " + fabric.network_name;
    case NetworkLimit::cards:
      break;
  }
  return fmt::format("network: {}, {:.3g} GB/s", fabric.network_name, price.network_gbps());
}

}  // namespace

// The network holds up an all-reduce between nodes if it is slower than the rings inside.
std::string find_narrowest(const NcclFabric& fabric, const NcclPrice& price, const Topology& topology) {
  const bool inside = fabric.ranks_per_node > 1;
  if (fabric.nodes > 1 && (!inside || price.network_gbps() < price.rings().gbps))
    return network_words(fabric, price);
  if (!inside) return "";
  const auto index = price.rings().narrowest;
  const double load = load_of(fabric.rings, index);
  const std::string name = resource_name(topology, fabric.rings.resources[index]);
  return load == 1 ? name : fmt::format("{}: crossed {:g} times by every byte", name, load);
}

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
  if (estimate.time > 0) estimate.narrowest_link = narrowest_;
  return estimate;
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
