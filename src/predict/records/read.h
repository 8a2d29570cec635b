// Reads measured records, one JSON object a line. Unknown fields are ignored; a wrong type or a number that
// can't be is a ConfigError naming file, line, field and what would be right. So is an unknown value of a
// closed list (a GPU nobody knows here), unless `skipped` is given: then that record alone is left out, and
// noted there with its id.
#pragma once

#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "predict/records/record.h"
#include "topo/node_spec.h"
#include "topo/rates.h"

namespace gradwire {

class Fields;

std::vector<Record> read_records(const std::filesystem::path&, std::vector<std::string>* skipped = nullptr);
std::vector<Record> parse_records(std::string_view text, std::string_view where,
                                  std::vector<std::string>* skipped = nullptr);

// The fields of kind "parallel", and one that it shares with "training".
ParallelRecord read_parallel(const Fields&);
std::optional<int> find_gradient_bytes(const Fields&);

// Where GPUs sit, told by the numbers of their PCI buses where no matrix does. Buses are numbered depth first:
// cards behind one switch have neighbouring numbers, cards with a root port of their own lie 16 and more apart,
// and the root buses of a second socket begin at 80 (hexadecimal).

// "bus ids 01 25 41 61", "(bus 1a, b2)", "bus ids 3d-40" in words about a machine; empty if there are none.
std::vector<int> bus_ids_in(std::string_view text);

// Absent where the numbers fit no even layout.
std::optional<PcieLayout> layout_by_bus_ids(std::span<const int> bus_ids);

// Each family of processors numbers its root buses alike (root_buses in presets/cpus.yaml): the family whose roots
// lie closest before all of these. Absent where none does or all hang on bus 0, as in desktops.
std::optional<Processor> processor_by_bus_ids(std::span<const int> bus_ids);

}  // namespace gradwire
