#include "predict/nccl/messages.h"

#include <fmt/format.h>

#include <cmath>
#include <span>

#include "base/error.h"
#include "predict/nccl/price.h"
#include "sim/sharing.h"

namespace gradwire {
namespace {

NcclLink link_of(const RingHop& hop) {
  if (hop.host) return NcclLink::host;
  if (!hop.nvlink) return NcclLink::pcie;
  return hop.path.links.size() > 1 ? NcclLink::nvswitch : NcclLink::nvlink;
}

}  // namespace

Messages::Messages(const Machine& machine, std::size_t ranks, const NcclSettings& settings)
    : machine_(machine), hops_(machine, ranks, settings) {}

void Messages::add(DeviceId from, DeviceId to) {
  const RingHop hop = hops_.find(from, to);
  add_route(machine_, std::span(&hop, 1), routes_);
  links_.push_back(link_of(hop));
}

void Messages::add_all(const std::vector<DeviceId>& gpus) {
  constexpr std::size_t kMostInANode = 128;  // pairs are counted one by one; the largest nodes sold have 72
  if (gpus.size() > kMostInANode)
    throw ConfigError(fmt::format("an all_to_all has no price among {} GPUs of one node, only up to {}",
                                  gpus.size(), kMostInANode));
  for (const DeviceId from : gpus)
    for (const DeviceId to : gpus)
      if (from != to) add(from, to);
}

void Messages::own_so_far() { routes_.own = routes_.routes.size(); }

double Messages::slowest_of_own(const NcclConstants& constants) const {
  if (routes_.own == 0) return HUGE_VAL;
  return ring_rate(routes_, constants, machine_.gpu.sm).gbps / static_cast<double>(routes_.own);
}

Narrowest Messages::narrowest_of_own(const NcclConstants& constants) const {
  if (routes_.own == 0) return {};
  const auto index = ring_rate(routes_, constants, machine_.gpu.sm).narrowest;
  return held_by(machine_.topology, routes_.resources[index]);
}

std::vector<Messages::Rated> Messages::rates(const NcclConstants& constants) const {
  std::vector<double> capacities;
  for (const Resource& one : routes_.resources)
    capacities.push_back(capacity_of(one, constants, machine_.gpu.sm));
  const auto shares = fair_share(capacities, routes_.routes);
  std::vector<Rated> rates;
  for (std::size_t i = 0; i < shares.size(); ++i) rates.push_back({links_[i], shares[i]});
  return rates;
}

void set_words(AllReduceEstimate& estimate, const NcclFabric& fabric, Bytes message) {
  estimate.algorithm = "Pairs";
  estimate.protocol = to_string(send_protocol(message));
  estimate.way = way_of(fabric);
}

}  // namespace gradwire
