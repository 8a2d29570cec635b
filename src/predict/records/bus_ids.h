// Where GPUs sit, told by the numbers of their PCI buses where no matrix does. Buses are numbered depth first:
// cards behind one switch have neighbouring numbers, cards with a root port of their own lie 16 and more apart,
// and the root buses of a second socket begin at 80 (hexadecimal).
#pragma once

#include <optional>
#include <span>
#include <string_view>
#include <vector>

#include "topo/node_spec.h"
#include "topo/rates.h"

namespace gradwire {

// "bus ids 01 25 41 61", "(bus 1a, b2)", "bus ids 3d-40" in words about a machine; empty if there are none.
std::vector<int> bus_ids_in(std::string_view text);

// Absent where the numbers fit no even layout.
std::optional<PcieLayout> layout_by_bus_ids(std::span<const int> bus_ids);

// Each family of processors numbers its root buses alike (root_buses in presets/cpus.yaml): the family whose roots
// lie closest before all of these. Absent where none does or all hang on bus 0, as in desktops.
std::optional<Processor> processor_by_bus_ids(std::span<const int> bus_ids);

}  // namespace gradwire
