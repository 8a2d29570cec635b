// A machine as a Report: paths, the inside of a node, rates between its devices, what was assumed.
#pragma once

#include <string>
#include <vector>

#include "predict/nccl/settings.h"
#include "report/report.h"
#include "topo/machine.h"

namespace gradwire {

// What the tables of a machine have as rows and columns: the GPUs and network cards of its first node.
using Cells = std::vector<std::vector<std::string>>;

struct Endpoints {
  std::vector<DeviceId> ids;
  std::vector<std::string> names;
  std::size_t gpus = 0;  // the first ones
};

struct EndpointPair {
  std::string cell;  // "X", "NV12", "PHB"
  Path path;         // without its links
};

Endpoints endpoints_of(const Machine&);
std::vector<std::vector<EndpointPair>> pairs_of(const Machine&, const Endpoints&);  // row by row

// `settings`: what the user's environment tells NCCL.
Report machine_report(const Machine&, const NcclSettings& = {});

// What was assumed of it, one line each; nothing where everything is stated.
void add_notes(Report&, const std::vector<std::string>& notes);
nlohmann::json machine_json(const Machine&, const Endpoints&, const std::vector<std::vector<EndpointPair>>&);
nlohmann::json rate_json(const Rate&);

// The inside of a node as a picture: processors, PCIe switches, GPUs and network cards as a tree, then what
// lies across it: NVLinks and socket links.
std::string draw_tree(const Machine&);
std::string draw_nvlinks(const Machine&);  // a line per NVSwitch, or per kind of bond; empty without NVLink

}  // namespace gradwire
