#include "predict/nccl/all_reduce.h"

#include <algorithm>
#include <map>

#include "predict/nccl/hops.h"

namespace gradwire {
namespace {

class CableLoads {
 public:
  CableLoads(const Machine& machine, const NcclModel& model)
      : machine_(machine), topology_(machine.topology), model_(model), fabric_(model.fabric()) {
    const bool inside = fabric_.ranks_per_node > 1;
    bus_gbps_ = model.price().rings().gbps;
    if (fabric_.nodes == 1) return;
    network_first_ = !inside || model.price().network_gbps() < bus_gbps_;
    if (network_first_) bus_gbps_ = model.price().network_gbps();
  }

  std::vector<LinkLoad> all() {
    for (std::size_t i = 0; i < fabric_.rings.resources.size(); ++i) {
      const bool narrowest = !network_first_ && i == model_.price().rings().narrowest;
      load(fabric_.rings.resources[i], load_of(fabric_.rings, i), narrowest);
    }
    if (fabric_.nodes > 1) load_network();
    std::vector<LinkLoad> loads;
    for (const auto& [cable, one] : loads_) loads.push_back(one);
    return loads;
  }

 private:
  void raise(LinkId link, double share, bool narrowest) {
    const LinkId cable = cable_of(topology_, link);
    LinkLoad& load = loads_[cable];
    load.cable = cable;
    load.share = std::min(1.0, std::max(load.share, share));
    load.narrowest |= narrowest;
  }

  std::vector<LinkId> links_of(DeviceId device, LinkKind kind) const {
    std::vector<LinkId> found;
    for (const LinkId id : topology_.links_from(device))
      if (topology_.link(id).kind == kind) found.push_back(id);
    return found;
  }

  double nominal(const std::vector<LinkId>& links) const {
    double sum = 0;
    for (const LinkId id : links) sum += topology_.link(id).rate.nominal_bytes_per_s / 1e9;
    return sum;
  }

  // Rings over NVLink alone are rated by the GPU with the fewest; the others carry the same bytes over more.
  void load_nvlinks(const Resource& weakest, double share) {
    for (int i = 0; i < fabric_.ranks_per_node; ++i) {
      const DeviceId gpu = machine_.gpus[static_cast<std::size_t>(i)];
      const auto links = links_of(gpu, LinkKind::nvlink);
      for (const LinkId id : links) raise(id, share * weakest.nominal_gbps / nominal(links), false);
    }
  }

  void load(const Resource& resource, double crossings, bool narrowest) {
    const double share = bus_gbps_ * crossings / capacity_of(resource, model_.constants(), fabric_.sm);
    switch (resource.kind) {
      case ResourceKind::nvlink:
        if (fabric_.over_nvlink()) load_nvlinks(resource, share);
        for (const LinkId id : links_of(resource.id, LinkKind::nvlink)) raise(id, share, narrowest);
        break;
      case ResourceKind::memory:
        for (const LinkId id : links_of(resource.id, LinkKind::memory)) raise(id, share, narrowest);
        break;
      case ResourceKind::socket_flow:
      case ResourceKind::thread_blocks:
        break;  // no link's
      default:
        raise(resource.id, share, narrowest);
    }
  }

  void load_network() {
    const double share = bus_gbps_ / model_.price().network_gbps();
    for (const DeviceId card : topology_.find_devices(DeviceKind::nic, 0))
      for (const LinkId id : links_of(card, LinkKind::network)) raise(id, share, network_first_);
  }

  const Machine& machine_;
  const Topology& topology_;
  const NcclModel& model_;
  const NcclFabric& fabric_;
  double bus_gbps_ = 0;
  bool network_first_ = false;
  std::map<LinkId, LinkLoad> loads_;
};

}  // namespace

std::vector<LinkLoad> link_loads(const Machine& machine, const NcclModel& model) {
  if (model.fabric().ranks < 2) return {};
  return CableLoads(machine, model).all();
}

}  // namespace gradwire
