// What sysfs says of PCI devices and network cards.
#pragma once

#include <filesystem>
#include <string>
#include <string_view>
#include <vector>

#include "topo/import/this_machine.h"

namespace gradwire {

// The place of a PCI device: bridges, NUMA node and the link it can train to (the lower of its own and its
// port's maximum, since an idle link runs slower than it can). `directory` is the device's, links allowed.
HostDevice read_pci_device(const std::filesystem::path& directory);

// Network cards on PCI, InfiniBand names first, named NIC0, NIC1, ...
std::vector<HostDevice> read_nics(const std::filesystem::path& sysfs);

// PCI addresses of NVIDIA's GPUs, whether a driver is there or not.
std::vector<std::string> read_nvidia_gpus(const std::filesystem::path& sysfs);

}  // namespace gradwire
