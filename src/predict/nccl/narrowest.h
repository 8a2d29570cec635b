// What holds a collective up: a resource of a node that rings cross, the network between nodes, or what is no model of ours. Values,
// of which report/narrowest.h makes words.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "predict/backends/backends.h"
#include "predict/nccl/price.h"

namespace gradwire {

enum class Holdup : std::uint8_t {
  unknown,    // nothing is sent, or nobody asked
  nothing,    // a link without limits
  resource,   // inside a node
  cards,      // of the network
  copies,     // between a GPU and the network's cards
  slots,      // of GPUs, on the way there
  host_card,  // of processes that do without NCCL
  software,   // the backend's own rate
  measured    // it is in what was measured, whatever it is
};

struct Narrowest {
  Holdup by = Holdup::unknown;

  Resource resource = {};
  std::string place = {};  // of the resource, a device or a link: "GPU0"; of thread blocks and TCP none
  double crossed = 1;      // times, by every byte

  NodeCards cards = {};
  bool one_card = false;  // of those
  double gbps = 0;        // that the way to other nodes gives
  Detour detour = Detour::none;

  Backend backend = Backend::nccl;  // of `software`
  bool operator==(const Narrowest&) const = default;
};

// The network holds up an all-reduce between nodes if it is slower than the rings inside.
Narrowest find_narrowest(const NcclFabric&, const NcclPrice&, const Topology&);
Narrowest held_by(const Topology&, const Resource&);
Narrowest held_by_host(Backend, bool network_bound);

// Resources that a reader takes for the same thing.
enum class ResourceClass : std::uint8_t { nvlinks, lane, slot, uplink, memory, socket, tcp, thread_blocks };
ResourceClass class_of(ResourceKind);

// A class of resource that rings cross, the most loaded one of it: how often a byte does, and what it gives in all.
// Capacity over load is the bus bandwidth that it alone would allow.
struct ResourceLoad {
  ResourceClass of = ResourceClass::nvlinks;
  double load = 0, capacity_gbps = 0;
};

// Of the rings inside a node, narrowest first.
std::vector<ResourceLoad> resource_loads(const NcclFabric&, const NcclConstants&);

}  // namespace gradwire
