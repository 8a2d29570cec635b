// What NCCL makes of a machine: by which links the ranks reach each other, how fast a ring over them runs,
// and what the network adds. Walked once from the devices and links of the machine; a value.
#pragma once

#include <optional>
#include <string>

#include "predict/nccl/settings.h"
#include "topo/machine.h"

namespace gradwire {

// The slowest kind of hop of a ring inside a node. pcie: peer to peer; host: through host memory.
enum class NcclLink { none, nvswitch, nvlink, pcie, host };

struct NcclFabric {
  std::string machine;
  int ranks = 1, nodes = 1, ranks_per_node = 1;
  int sm = 0;
  NcclLink link = NcclLink::none;
  double node_gbps = 0;                // bus bandwidth a ring inside a node can have; 0 for one rank a node
  std::string narrowest;               // the link that holds it up
  bool nvls = false;                   // reduction inside NVSwitch: SM90 and more than four GPUs of a node
  double pcie_gbps = 0;                // of a GPU's slot, as NCCL counts
  std::optional<NetworkKind> network;  // for several nodes
  double network_nominal_gbps = 0;     // the cards' data sheet, all cards of a node together
  double network_gbps = 0;             // one way, all cards of a node together
  bool staged_network = false;         // data passes through host memory on its way to the card
  std::string network_name;            // "4 x 100 Gbit/s EFA"
};

NcclFabric nccl_fabric(const Machine&, const NcclSettings& = {});

std::string_view to_string(NcclLink);
std::string path_name(const NcclFabric&);  // "NVLink + InfiniBand"

}  // namespace gradwire
