#include <unistd.h>

#include <algorithm>
#include <array>

#include "base/error.h"
#include "base/module.h"
#include "base/text.h"
#include "topo/import/nvml.h"
#include "topo/import/this_machine.h"

namespace gradwire {
namespace {

const ModuleSpec kHwloc = {.name = "hwloc",
                           .not_built = "this gradwire was built without hwloc (libhwloc-dev)",
                           .install = "apt-get install libhwloc15",
                           .for_others = false};

// What can be said of a machine without its processor is still worth saying.
void find_processor_by_hwloc(Host& host) {
  try {
    module_function<decltype(gradwire_read_processor)>(kHwloc, "gradwire_read_processor")(host);
  } catch (const ConfigError& error) {
    host.notes.push_back(fmt::format("processor, caches and memory are not told: {}", error.what()));
  }
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
    host.notes.push_back(host.no_gpu = fmt::format("there is no NVIDIA GPU on this machine ({})", why));
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
  find_processor_by_hwloc(host);
  read_gpus(options, host);
  host.nics = read_nics(options.sysfs);
  return host;
}

}  // namespace gradwire
