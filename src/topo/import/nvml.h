// GPUs and NVLinks as NVML reports them. Its library is opened at run time and belongs to the driver; without
// it there is nothing to report, which is no error.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace gradwire {

inline constexpr const char* kNvmlLibrary = "libnvidia-ml.so.1";

struct NvmlLink {
  std::string peer;  // PCI address of the other end
  bool to_switch = false;
};

struct NvmlGpu {
  std::string name, address;         // "NVIDIA A100-SXM4-80GB", "0000:17:00.0"
  int pcie_gen = 0, pcie_width = 0;  // the highest it can train to here; 0: not known
  std::vector<NvmlLink> links;       // active ones
};

struct NvmlReport {
  std::vector<NvmlGpu> gpus;
  std::string error;  // why there is nothing, in NVML's words; empty if it worked
};

// What a GPU's NVLinks have moved since the driver was loaded, as NVML counts it: data, without protocol.
struct NvmlTraffic {
  std::string name, address;
  std::uint64_t sent = 0, received = 0;  // bytes
};

// Of GPUs that count it. Empty: no library, no driver, no NVLink.
std::vector<NvmlTraffic> read_nvlink_traffic(const std::string& library = kNvmlLibrary);

std::optional<NvmlReport> read_nvml(const std::string& library);  // nothing if the library is not there

}  // namespace gradwire
