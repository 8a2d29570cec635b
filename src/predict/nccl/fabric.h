// What NCCL makes of a machine: the rings inside a node and what they cross, and what the network adds. Walked
// once from the devices and links of the machine; a value that no fitted constant has touched.
#pragma once

#include <optional>
#include <string>

#include "predict/calibration/constants.h"
#include "predict/nccl/ring.h"
#include "predict/nccl/settings.h"
#include "topo/machine.h"

namespace gradwire {

// How data gets from a GPU to a card that does not read GPU memory next to it: through host memory, where the card takes and
// leaves it by itself or a thread of NCCL copies it; or by GPUDirect from socket to socket.
enum class Detour { none, memory, processor, sockets };

// The network cards of a node, as they are sold.
struct NodeCards {
  int count = 0;
  double gbit = 0;  // of each
  NetworkKind kind = NetworkKind::ethernet;
  bool operator==(const NodeCards&) const = default;
};

struct NcclFabric {
  int ranks = 1, nodes = 1, ranks_per_node = 1;
  int sm = 0;
  NodeRings rings;    // inside a node; none for one rank a node
  bool nvls = false;  // reduction inside NVSwitch: SM90 and more than four GPUs of a node
  NcclSettings settings;
  std::optional<NetworkKind> network;  // for several nodes
  int cards = 0;                       // of a node
  double card_share = 1;               // its part of each, where others use them too
  double card_gbps = 0;                // of the data sheet, at most what a slot gives
  double socket_gbps = 0;              // what TCP carries over one (presets/networks.yaml); 0: RDMA
  double network_nominal_gbps = 0;     // the cards' data sheet, all cards of a node together
  double slot_gbps = 0;                // of a GPU's slot, data sheet
  Detour detour = Detour::none;
  NodeCards node_cards;  // all of them, whoever uses them

  NcclLink link() const { return rings.link; }
  // Host memory by the copy engine: NCCL's proxy starts a copy for each slice, up and then down.
  bool by_copy_engine() const {
    return link() == NcclLink::host && settings.copy_engine && settings.version.value_or(0) < 230;
  }
  bool staged_network() const { return detour != Detour::none; }
  bool over_nvlink() const { return link() == NcclLink::nvlink || link() == NcclLink::nvswitch; }
};

NcclFabric nccl_fabric(const Machine&, const NcclSettings& = {});

// The network part of one whose ranks, nodes and rings are known; `gpu`: its first.
void add_network(const Machine&, DeviceId gpu, NcclFabric&);

bool reduces_in_switch(const NcclFabric&);  // NVLS
double slot_gbps(const Machine&);           // of a GPU's PCIe slot, data sheet

MachineClass class_of(const NcclFabric&);

// Which way the data of a collective goes. What two machines on which it is the same leave open, they leave open alike.
struct Way {
  NcclLink inside = NcclLink::none;         // a node; none where a rank is alone in it
  std::optional<NetworkKind> network = {};  // between nodes
  Detour detour = Detour::none;             // on the way to its cards

  bool operator==(const Way&) const = default;
};

Way way_of(const NcclFabric&);
Way way_through_host(const Machine&);  // of processes that do without NCCL

std::string_view to_string(NcclLink);
std::string path_name(const std::optional<Way>&);  // "NVLink + InfiniBand"; of none nothing

}  // namespace gradwire
