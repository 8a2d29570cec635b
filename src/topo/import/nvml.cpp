#include "topo/import/nvml.h"

#include <dlfcn.h>
#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <memory>

namespace gradwire {
namespace {

// The part of NVML's interface used here, declared as its manual documents it.
using NvmlDevice = struct DeviceTag*;
struct PciInfo {
  char legacy_bus_id[16];
  unsigned domain, bus, device, device_id, subsystem_id;
  char bus_id[32];
};
constexpr int kSuccess = 0;
constexpr int kRemoteIsSwitch = 2;
constexpr unsigned kMostNvmlLinks = 18, kMostDevices = 256;

class Library {
 public:
  explicit Library(const std::string& path)
      : handle_(dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL), dlclose_if) {}
  bool open() const { return handle_ != nullptr; }

  // Calls a function by name; a library too old to have it fails like any other call.
  template <typename... Args>
  int call(const char* name, Args... args) const {
    using Function = int (*)(Args...);
    const auto function = reinterpret_cast<Function>(dlsym(handle_.get(), name));
    return function == nullptr ? -1 : function(args...);
  }

  std::string error_text(int code) const {
    using Function = const char* (*)(int);
    const auto function = reinterpret_cast<Function>(dlsym(handle_.get(), "nvmlErrorString"));
    return function == nullptr ? fmt::format("NVML error {}", code) : function(code);
  }

 private:
  static void dlclose_if(void* handle) {
    if (handle != nullptr) dlclose(handle);
  }
  std::unique_ptr<void, void (*)(void*)> handle_;
};

// sysfs has four digits of domain where NVML has eight, and small letters.
std::string address_of(const PciInfo& info) {
  return fmt::format("{:04x}:{:02x}:{:02x}.0", info.domain, info.bus, info.device);
}

std::vector<NvmlLink> links_of(const Library& nvml, NvmlDevice device) {
  std::vector<NvmlLink> links;
  for (unsigned link = 0; link < kMostNvmlLinks; ++link) {
    unsigned active = 0;
    PciInfo remote{};
    int type = 0;
    if (nvml.call("nvmlDeviceGetNvLinkState", device, link, &active) != kSuccess || active == 0) continue;
    if (nvml.call("nvmlDeviceGetNvLinkRemotePciInfo_v2", device, link, &remote) != kSuccess) continue;
    const bool known = nvml.call("nvmlDeviceGetNvLinkRemoteDeviceType", device, link, &type) == kSuccess;
    links.push_back({.peer = address_of(remote), .to_switch = known && type == kRemoteIsSwitch});
  }
  return links;
}

NvmlGpu gpu_of(const Library& nvml, NvmlDevice device) {
  NvmlGpu gpu;
  std::array<char, 96> name{};
  if (nvml.call("nvmlDeviceGetName", device, name.data(), static_cast<unsigned>(name.size() - 1)) == kSuccess)
    gpu.name = name.data();
  PciInfo info{};
  if (nvml.call("nvmlDeviceGetPciInfo_v3", device, &info) == kSuccess) gpu.address = address_of(info);
  unsigned value = 0;
  if (nvml.call("nvmlDeviceGetMaxPcieLinkGeneration", device, &value) == kSuccess)
    gpu.pcie_gen = static_cast<int>(value);
  if (nvml.call("nvmlDeviceGetMaxPcieLinkWidth", device, &value) == kSuccess)
    gpu.pcie_width = static_cast<int>(value);
  gpu.links = links_of(nvml, device);
  return gpu;
}

}  // namespace

std::optional<NvmlReport> read_nvml(const std::string& library) {
  const Library nvml(library);
  if (!nvml.open()) return std::nullopt;
  NvmlReport report;
  if (const int code = nvml.call("nvmlInit_v2"); code != kSuccess) {
    report.error = nvml.error_text(code);
    return report;
  }
  unsigned count = 0;
  if (const int code = nvml.call("nvmlDeviceGetCount_v2", &count); code != kSuccess)
    report.error = nvml.error_text(code);
  for (unsigned i = 0; i < std::min(count, kMostDevices); ++i) {
    NvmlDevice device = nullptr;
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device) == kSuccess)
      report.gpus.push_back(gpu_of(nvml, device));
  }
  nvml.call("nvmlShutdown");
  return report;
}

}  // namespace gradwire
