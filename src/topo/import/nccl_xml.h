// NCCL's topology file (NCCL_TOPO_DUMP_FILE, or the NCCL_TOPO_FILE a cloud ships): processors, PCI trees,
// GPUs with their NVLinks, network cards. The file knows no host bridges, so all that hangs on one processor
// is PHB.
#pragma once

#include <optional>
#include <string>
#include <string_view>

#include "topo/machine.h"

namespace gradwire {

struct XmlOptions {
  int nodes = 1;
  std::string gpu;  // which GPU it is; empty: told from its compute capability and links
  std::optional<NetworkSpec> network;
};

Machine machine_from_xml(std::string_view text, const std::string& where,
                         const XmlOptions&);  // throws ConfigError

}  // namespace gradwire
