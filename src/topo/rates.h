// The rates of links inside a node, from presets/links.yaml, and of processors, from presets/cpus.yaml.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/gpu.h"
#include "topo/node_spec.h"
#include "topo/path.h"
#include "topo/topology.h"

namespace gradwire {

struct LinkPreset {
  std::string id, title, source;
  LinkKind kind = LinkKind::pcie;
  int generation = 0;
  Rate rate;  // of 16 lanes, or of one NVLink
};
const std::vector<LinkPreset>& all_links();

Rate pcie_rate(int generation, int width);  // throws ConfigError for a generation that does not exist
Rate nvlink_rate(const Gpu&, int generation, int links);
Rate c2c_rate(const Gpu&);
Rate internal_rate();

// What stands behind a GPU's PCIe slot.
struct Processor {
  std::string id, title, source;
  CpuMaker maker = CpuMaker::unknown;
  int pcie_gen = 0;
  Rate memory;                  // one direction: half of what reads and writes together achieve
  Rate socket;                  // to one other socket; all 0 if it has no such link
  std::string named;            // regular expression of the names it is sold under; empty: none that tell it
  std::vector<int> root_buses;  // how firmware numbers its PCI roots, ascending; empty: not known
  bool numbered_alike = false;  // others of its maker have the same: they tell the maker alone
  bool desktop = false;         // 16 lanes for cards, which two of them share
  bool operator==(const Processor&) const = default;
};
const std::vector<Processor>& all_processors();
Processor find_processor(std::string_view id);  // throws ConfigError
Processor processor_of(std::string_view vendor, int family,
                       int model);  // as /proc/cpuinfo and NCCL's files say them
Processor usual_processor(std::optional<CpuMaker>, int pcie_gen);  // of servers

// What holds for all processors of a maker, most of it what NCCL makes of them. Versions of NCCL: 2.23 is 223.
struct MakerRules {
  struct PeerAccess {  // from that version on, with more GPUs than that
    int since = 0, gpus_over = 0;
    PathClass up_to = PathClass::pxb;
  };
  CpuMaker maker = CpuMaker::unknown;
  double root_cost = 1;                           // of peer bytes through the root complex
  std::vector<PeerAccess> peer_access;            // the last that fits
  int socket_limit_since = 0, one_way_since = 0;  // the latter 0: never
  bool one_socket = false;                        // has the lanes for a box of GPUs
};
const MakerRules& maker_rules(CpuMaker);

}  // namespace gradwire
