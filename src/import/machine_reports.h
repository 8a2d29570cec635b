// What tools say of a machine's links: `nvidia-smi nvlink -s`, `nvidia-smi -q` and `lspci -vv`. Pure functions; only what a
// check needs is kept.
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct NvlinkReport {
  std::string file;
  struct Gpu {
    int index = 0;
    std::string name;
    int active = 0, inactive = 0;
    int line = 0;  // of the first inactive one, else of the GPU
  };
  std::vector<Gpu> gpus;
};
NvlinkReport parse_nvlink_status(std::string_view text, const std::string& name);

struct PciReport {
  std::string file;
  struct Device {
    std::string slot, name;
    double speed_now = 0, speed_most = 0;  // GT/s; 0: not said
    int width_now = 0, width_most = 0;     // lanes
    bool gpu = false, bridge = false;
    bool redirects = false;  // ACSCtl: ReqRedir+ or CmpltRedir+ or UpstreamFwd+
    int line = 0, acs_line = 0;
  };
  std::vector<Device> devices;
};
PciReport parse_lspci(std::string_view text, const std::string& name);

// The same of `nvidia-smi -q`: lanes of each GPU.
PciReport parse_smi_query(std::string_view text, const std::string& name);

}  // namespace gradwire
