// The machine this runs on: processors, caches and memory from hwloc if its module is there, the PCI tree and
// network cards from sysfs, GPUs and NVLinks from NVML if its library is there.
#pragma once

#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "topo/import/nvml.h"
#include "topo/machine.h"

namespace gradwire {

// A GPU or network card of a host, as the operating system sees it.
struct HostDevice {
  std::string name;   // "GPU0", "NIC0"
  std::string model;  // "NVIDIA A100-SXM4-80GB", "mlx5_0", "eth0"
  std::vector<std::string>
      bridges;  // PCI addresses from the root bus down to the device itself; empty: not on PCI
  int numa = 0;
  int pcie_gen = 0, pcie_width = 0;  // 0: not known
  double gbit = 0;                   // of a network card; 0: not known
};

struct HostNvlink {
  int gpu = 0;
  int peer = -1;  // -1: an NVSwitch
  int links = 0;
};

struct Host {
  std::string name;
  std::string cpu_vendor;
  int cpu_family = 0, cpu_model = 0;
  int numa_nodes = 1;
  std::vector<HostDevice> gpus, nics;
  std::vector<HostNvlink> nvlinks;
  std::vector<std::string> facts, notes;
  std::string
      no_gpu;  // the note that says there is none, and why; empty: there is one, even if nobody answers for it
};

struct ProbeOptions {
  std::filesystem::path sysfs = "/sys";
  std::string nvml_library = kNvmlLibrary;
};
Host probe_host(const ProbeOptions& = {});

struct HostOptions {
  int nodes = 1;
  std::optional<NetworkSpec> network;
};
Machine machine_of_host(const Host&, const HostOptions&);  // a machine without GPUs if it has none
Machine this_machine(const HostOptions&);

// The relation of two devices of one host, from where they sit on PCI.
PathClass pci_relation(const HostDevice&, const HostDevice&);

// What sysfs says. The place of a PCI device: bridges, NUMA node and the link it can train to (the lower of its own and its
// port's maximum, since an idle link runs slower than it can). `directory` is the device's, links allowed.
HostDevice read_pci_device(const std::filesystem::path& directory);

// Network cards on PCI, InfiniBand names first, named NIC0, NIC1, ...
std::vector<HostDevice> read_nics(const std::filesystem::path& sysfs);

// PCI addresses of NVIDIA's GPUs, whether a driver is there or not.
std::vector<std::string> read_nvidia_gpus(const std::filesystem::path& sysfs);

// The entry of the module hwloc (base/module.h): processors, caches and memory of this machine.
extern "C" void gradwire_read_processor(Host& host);  // fills in numa_nodes, cpu_* and facts

}  // namespace gradwire
