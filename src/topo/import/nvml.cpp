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
struct FieldValue {
  unsigned field, scope;
  long long timestamp, latency_us;
  int value_type, result;
  unsigned long long value;  // of a union; counters are of 64 bits
};
constexpr unsigned kDataSent = 138, kDataReceived = 139, kAllLinks = 0xffffffff;  // KiB over NVLink
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

std::optional<NvmlTraffic> find_traffic(const Library& nvml, NvmlDevice device) {
  std::array<FieldValue, 2> fields{};
  fields[0].field = kDataSent;
  fields[1].field = kDataReceived;
  fields[0].scope = fields[1].scope = kAllLinks;
  if (nvml.call("nvmlDeviceGetFieldValues", device, static_cast<int>(fields.size()), fields.data()) !=
          kSuccess ||
      fields[0].result != kSuccess || fields[1].result != kSuccess)
    return std::nullopt;
  const NvmlGpu gpu = gpu_of(nvml, device);
  return NvmlTraffic{gpu.name, gpu.address, fields[0].value * 1024, fields[1].value * 1024};
}

template <typename Look>
void for_each_gpu(const Library& nvml, unsigned count, Look look) {
  for (unsigned i = 0; i < std::min(count, kMostDevices); ++i) {
    NvmlDevice device = nullptr;
    if (nvml.call("nvmlDeviceGetHandleByIndex_v2", i, &device) == kSuccess) look(device);
  }
}

}  // namespace

std::vector<NvmlTraffic> read_nvlink_traffic(const std::string& library) {
  std::vector<NvmlTraffic> all;
  const Library nvml(library);
  if (!nvml.open() || nvml.call("nvmlInit_v2") != kSuccess) return all;
  unsigned count = 0;
  if (nvml.call("nvmlDeviceGetCount_v2", &count) == kSuccess)
    for_each_gpu(nvml, count, [&](NvmlDevice device) {
      if (auto traffic = find_traffic(nvml, device)) all.push_back(std::move(*traffic));
    });
  nvml.call("nvmlShutdown");
  return all;
}

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
  for_each_gpu(nvml, count, [&](NvmlDevice device) { report.gpus.push_back(gpu_of(nvml, device)); });
  nvml.call("nvmlShutdown");
  return report;
}

}  // namespace gradwire
