#include <hwloc.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <memory>

#include "base/error.h"
#include "base/text.h"
#include "base/units.h"
#include "topo/import/nvml.h"
#include "topo/import/sysfs.h"
#include "topo/import/this_machine.h"

namespace gradwire {
namespace {

using Hwloc = std::unique_ptr<hwloc_topology, void (*)(hwloc_topology_t)>;

Hwloc load_hwloc() {
  hwloc_topology_t topology = nullptr;
  if (hwloc_topology_init(&topology) != 0) throw Error("hwloc can't be started");
  Hwloc owned(topology, hwloc_topology_destroy);
  if (hwloc_topology_load(topology) != 0) throw Error("hwloc can't read this machine");
  return owned;
}

std::string info(hwloc_obj_t object, const char* name) {
  const char* value = object == nullptr ? nullptr : hwloc_obj_get_info_by_name(object, name);
  return value == nullptr ? "" : std::string(trim(value));
}

int count(const Hwloc& hwloc, hwloc_obj_type_t type) {
  return std::max(0, hwloc_get_nbobjs_by_type(hwloc.get(), type));
}

std::string counted(int number, const char* what) {
  return fmt::format("{} {}{}", number, what, number == 1 ? "" : "s");
}

std::string cache_line(const Hwloc& hwloc) {
  std::vector<std::string> caches;
  const std::pair<hwloc_obj_type_t, const char*> kCaches[] = {
      {HWLOC_OBJ_L1CACHE, "L1"}, {HWLOC_OBJ_L2CACHE, "L2"}, {HWLOC_OBJ_L3CACHE, "L3"}};
  for (const auto& [type, name] : kCaches) {
    const hwloc_obj_t cache = hwloc_get_obj_by_type(hwloc.get(), type, 0);
    if (cache != nullptr)
      caches.push_back(
          fmt::format("{} {} x {}", name, count(hwloc, type), format_bytes(cache->attr->cache.size)));
  }
  return caches.empty() ? "caches: not told" : "caches: " + join(caches, ", ");
}

std::string memory_line(const Hwloc& hwloc) {
  const Bytes total = hwloc_get_root_obj(hwloc.get())->total_memory;
  return fmt::format("memory: {} in {}", format_bytes(total),
                     counted(count(hwloc, HWLOC_OBJ_NUMANODE), "NUMA node"));
}

void read_processor(Host& host) {
  const Hwloc hwloc = load_hwloc();
  const hwloc_obj_t package = hwloc_get_obj_by_type(hwloc.get(), HWLOC_OBJ_PACKAGE, 0);
  host.cpu_vendor = info(package, "CPUVendor");
  host.cpu_family = find_integer<int>(info(package, "CPUFamilyNumber")).value_or(0);
  host.cpu_model = find_integer<int>(info(package, "CPUModelNumber")).value_or(0);
  host.numa_nodes = std::max(1, count(hwloc, HWLOC_OBJ_NUMANODE));
  const std::string model = info(package, "CPUModel");
  host.facts.push_back(fmt::format("processor: {}, {}, {}, {}", model.empty() ? "not named" : model,
                                   counted(std::max(1, count(hwloc, HWLOC_OBJ_PACKAGE)), "socket"),
                                   counted(count(hwloc, HWLOC_OBJ_CORE), "core"),
                                   counted(count(hwloc, HWLOC_OBJ_PU), "thread")));
  host.facts.push_back(cache_line(hwloc));
  host.facts.push_back(memory_line(hwloc));
}

int gpu_at(const NvmlReport& report, const std::string& address) {
  for (std::size_t i = 0; i < report.gpus.size(); ++i)
    if (report.gpus[i].address == address) return static_cast<int>(i);
  return -1;
}

void add_nvlinks(const NvmlReport& report, int gpu, Host& host) {
  std::vector<HostNvlink> bonds;
  for (const NvmlLink& link : report.gpus[static_cast<std::size_t>(gpu)].links) {
    const int peer = link.to_switch ? -1 : gpu_at(report, link.peer);
    if (!link.to_switch && peer < 0) continue;
    const auto bond =
        std::find_if(bonds.begin(), bonds.end(), [&](const HostNvlink& b) { return b.peer == peer; });
    if (bond == bonds.end())
      bonds.push_back({gpu, peer, 1});
    else
      ++bond->links;
  }
  host.nvlinks.insert(host.nvlinks.end(), bonds.begin(), bonds.end());
}

void read_gpus(const ProbeOptions& options, Host& host) {
  const auto report = read_nvml(options.nvml_library);
  for (std::size_t i = 0; report && i < report->gpus.size(); ++i) {
    const NvmlGpu& gpu = report->gpus[i];
    HostDevice device = read_pci_device(options.sysfs / "bus" / "pci" / "devices" / gpu.address);
    device.name = fmt::format("GPU{}", i);
    device.model = gpu.name;
    if (device.pcie_gen == 0) device.pcie_gen = gpu.pcie_gen;
    if (device.pcie_width == 0) device.pcie_width = gpu.pcie_width;
    host.gpus.push_back(std::move(device));
    add_nvlinks(*report, static_cast<int>(i), host);
  }
  if (!host.gpus.empty()) return;
  const std::vector<std::string> seen = read_nvidia_gpus(options.sysfs);
  const std::string why = !report                 ? "NVML is not installed"
                          : report->error.empty() ? "NVML sees none"
                                                  : report->error;
  if (seen.empty())
    host.notes.push_back(fmt::format("there is no NVIDIA GPU on this machine ({})", why));
  else
    host.notes.push_back(fmt::format("there are NVIDIA GPUs at {} but their driver does not answer ({})",
                                     join(seen, ", "), why));
}

std::string host_name() {
  std::array<char, 256> name{};
  return gethostname(name.data(), name.size() - 1) == 0 ? name.data() : "this";
}

}  // namespace

Host probe_host(const ProbeOptions& options) {
  Host host;
  host.name = host_name();
  read_processor(host);
  read_gpus(options, host);
  host.nics = read_nics(options.sysfs);
  return host;
}

}  // namespace gradwire
