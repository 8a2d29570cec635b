// A saved `nvidia-smi topo -m`: who is connected to whom by which kind of path. Reads what any driver prints
// and what people paste: tabs or blanks, escape codes, a prompt line, Markdown tables, legends, NIC columns
// by number or by name, affinity columns, columns cut off by "...". Refuses other reports (`topo -p2p`, ROCm)
// and incomplete matrices by saying what they are or what is missing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct TopoMatrix {
  std::vector<std::string> names;               // "GPU0", ..., then "NIC0" or "mlx5_0", ... in column order
  int gpus = 0;                                 // the first ones of names
  std::vector<std::vector<std::string>> cells;  // [row][column]: "X", "NV12", "PHB"; "SOC" is read as "SYS"
  std::vector<std::string> cpu_affinity;        // of each GPU, as printed; empty if there is no such column
  std::vector<std::string> numa_affinity;
  std::vector<std::string> nic_models;  // of each NIC, from the NIC legend or its column name; may be empty
  std::vector<std::string>
      oddities;  // what the report itself has wrong: "GPU1-GPU2 is NV6, GPU2-GPU1 is SYS"
  bool operator==(const TopoMatrix&) const = default;
};

TopoMatrix parse_matrix(std::string_view text, std::string_view where);  // throws ConfigError naming `where`
TopoMatrix parse_matrix(const std::vector<std::string>& lines, std::string_view where);
bool looks_like_matrix(std::string_view text);  // or like one of the reports parse_matrix() refuses by name

}  // namespace gradwire
