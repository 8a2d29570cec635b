// What the NVLinks of a host's GPUs moved while a run was watched: NVML's counters before and after. The proof that NVLink
// was used, or was not. A value, and the file it is kept in.
#pragma once

#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "topo/import/nvml.h"

namespace gradwire {

struct NvlinkTraffic {
  std::string file;
  struct Gpu {
    std::string name, address;
    Bytes sent = 0, received = 0;
  };
  std::vector<Gpu> gpus;

  Bytes most() const;  // sent or received by any of them
};

// GPUs that are in both; a counter that went back counts as nothing.
NvlinkTraffic traffic_between(const std::vector<NvmlTraffic>& before, const std::vector<NvmlTraffic>& after);

std::string nvlink_traffic_json(const NvlinkTraffic&);
// Throws ConfigError with the name in front.
NvlinkTraffic parse_nvlink_traffic(std::string_view json, const std::string& name);

}  // namespace gradwire
