// Rings over the GPUs of one node, laid as NCCL's search lays them, and what of the machine each byte crosses.
//
// A hop from GPU to GPU crosses resources: an NVLink, lanes of PCIe one way, a slot both ways, the uplink of a
// switch, the memory of a socket, the link between sockets, thread blocks. All hops of a ring advance
// together, so a ring is one flow that crosses a resource as often as its hops do. Max-min sharing over the
// resources gives its rate (price.h). Nothing here depends on fitted constants.
#pragma once

#include <vector>

#include "predict/nccl/settings.h"
#include "topo/machine.h"

namespace gradwire {

// The slowest kind of hop of a ring inside a node. pcie: peer to peer; host: through host memory.
enum class NcclLink { none, nvswitch, nvlink, pcie, host };

// nvlink: all of a GPU's, one way. nvlink_cable: those to one peer or switch, one way.
// lane: one direction of a PCIe cable. root_lane: the same where a root complex re-cuts packets to 64 bytes.
// peer_slot, host_slot: both directions together, for peer traffic and for traffic with host memory.
// uplink: as host_slot, of a switch with several GPUs behind it. memory: writes and reads together. socket: one
// GPU's stream from socket to socket, which ends far below what the link carries in all.
// socket_flow: TCP over the loopback device, where NCCL_SHM_DISABLE leaves nothing else.
enum class ResourceKind {
  nvlink,
  nvlink_cable,
  lane,
  root_lane,
  peer_slot,
  host_slot,
  uplink,
  memory,
  socket,
  socket_flow,
  thread_blocks
};

struct Resource {
  ResourceKind kind = ResourceKind::nvlink;
  double nominal_gbps = 0;  // of the data sheet; thread blocks: their number
  int generation = 0;       // of NVLink; of a socket link the GPU whose stream it is
  int id = -1;              // of the link, the lower of a cable's two; of a memory or GPU its device
  bool operator==(const Resource&) const = default;
};

struct NodeRings {
  NcclLink link = NcclLink::none;  // kind of the slowest hop
  int thread_blocks = 0;           // that NCCL launches on each GPU
  double believed_gbps = 0;        // what the search counts on: it decides algorithm and protocol
  double nominal_gbps = 0;         // of the narrowest link, data sheet
  std::vector<Resource> resources;
  std::vector<std::vector<int>> routes;  // by ring: indices of resources, as often as a byte crosses them
  std::vector<std::vector<int>> chains;  // the same without the hop that closes the ring
  std::size_t own = 0;  // the first of the routes; those behind are of others who share the resources
};

// `gpus` are the GPUs of one node that take part, in rank order.
NodeRings lay_rings(const Machine&, const std::vector<DeviceId>& gpus, const NcclSettings&);

// Whether NVLinks alone can join all of them in a ring.
bool has_nvlink_ring(const Machine&, const std::vector<DeviceId>& gpus);

// How often a byte of bus bandwidth crosses a resource, over all rings.
double load_of(const NodeRings&, std::size_t resource);

// What others do at the same time: their rings take their share of the resources.
void add_others(const NodeRings& others, NodeRings&);

}  // namespace gradwire
