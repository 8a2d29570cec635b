// The inside of a node as a picture: processors, PCIe switches, GPUs and network cards as a tree, then what
// lies across it: NVLinks and socket links.
#pragma once

#include <string>

#include "topo/machine.h"

namespace gradwire {

std::string draw_tree(const Machine&);
std::string draw_nvlinks(const Machine&);  // a line per NVSwitch, or per kind of bond; empty without NVLink

}  // namespace gradwire
