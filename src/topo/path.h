// How two devices are connected, in the words of `nvidia-smi topo -m`, read off the route between them.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topo/topology.h"

namespace gradwire {

// From near to far. nvl: NVLink, directly or through NVSwitch. nvb: through NVLinks of a third GPU, which
// NCCL does and hardware by itself does not: classify() never says it. c2c: Grace
// to its GPU. pix: one PCIe switch; pxb: several; phb: the host bridge; node: two host bridges of one cpu;
// sys: between cpus; net: between nodes.
enum class PathClass { self, nvl, nvb, c2c, pix, pxb, phb, node, sys, net, none };

PathClass classify(const Topology&, DeviceId, DeviceId);
PathClass classify(const Topology&, std::span<const LinkId> route);  // self if it is empty
std::string_view to_string(PathClass);                               // "NODE"
std::optional<PathClass> find_path_class(std::string_view);  // reads also "NV12", "SOC" and lower case

// NVLinks between two GPUs, as N of "NVN": bonded links if direct, a GPU's links if through NVSwitch; 0 if
// none.
int nvlinks_between(const Topology&, DeviceId, DeviceId);
int nvlinks_along(const Topology&, std::span<const LinkId> route);

// What the matrix shows in that place: "X", "NV12", "PHB", ...
std::string matrix_cell(const Topology&, DeviceId, DeviceId);

}  // namespace gradwire
