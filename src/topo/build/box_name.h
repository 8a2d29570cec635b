// Machines by a name that describes them: "4x-rtx4090-pcie-pxb" is four RTX 4090 without NVLink behind two
// levels of PCIe switches.
#pragma once

#include <cstdint>
#include <optional>
#include <string_view>

#include "topo/node_spec.h"

namespace gradwire {

enum class BoxLink : std::uint8_t { nvlink, nvswitch, pcie };
std::string_view to_string(BoxLink);
std::optional<BoxLink> find_box_link(std::string_view word);

// N x GPU, joined by nvlink (or in full: nvlink-pairs, nvlink-mesh), nvswitch or pcie (usual for the GPU if not said); then how the PCIe tree lies:
// pix, pxb, phb, node, sys. Nothing if the name does not have that form; throws ConfigError if it has it but
// names no GPU.
std::optional<NodeSpec> find_box(std::string_view name);

PcieLayout layout_of(std::string_view word, int gpus);  // throws ConfigError

}  // namespace gradwire
