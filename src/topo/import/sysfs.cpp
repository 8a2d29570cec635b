#include "topo/import/this_machine.h"

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <fstream>

#include "base/text.h"

namespace gradwire {
namespace {

namespace fs = std::filesystem;

// The first line of a small file; empty if it can't be read, which is common in sysfs.
std::string read_line(const fs::path& path) {
  std::ifstream file(path);
  std::string line;
  std::getline(file, line);
  return std::string(trim(line));
}

std::vector<fs::path> entries(const fs::path& directory) {
  std::vector<fs::path> found;
  std::error_code error;
  for (const auto& entry : fs::directory_iterator(directory, error)) found.push_back(entry.path());
  std::sort(found.begin(), found.end());
  return found;
}

bool is_pci(std::string_view name) {  // "pci0000:16" or "0000:17:00.0"
  const bool root = name.starts_with("pci") && name.find(':') != std::string_view::npos;
  return root || (name.size() >= 12 && name[4] == ':' && name[7] == ':');
}

std::vector<std::string> bridges_of(const fs::path& real) {
  std::vector<std::string> bridges;
  for (const fs::path& part : real)
    if (is_pci(part.string())) bridges.push_back(part.string());
  return bridges;
}

int generation(const fs::path& directory) {
  const double speed = std::strtod(read_line(directory / "max_link_speed").c_str(), nullptr);
  constexpr double kSpeeds[] = {2.5, 5, 8, 16, 32, 64};
  for (int gen = 6; gen >= 1; --gen)
    if (std::abs(speed - kSpeeds[gen - 1]) < 0.01) return gen;
  return 0;
}

int lanes(const fs::path& directory) {
  const int width = find_integer<int>(read_line(directory / "max_link_width")).value_or(0);
  return width > 32 ? 0 : width;
}

int lower_known(int a, int b) { return a == 0 || b == 0 ? std::max(a, b) : std::min(a, b); }

double gbit_of_net(const fs::path& net) {
  const double mbit = find_integer<int>(read_line(net / "speed")).value_or(0);
  return mbit > 0 ? mbit / 1000 : 0;
}

double gbit_of_infiniband(const fs::path& device) {  // "100 Gb/sec (4X EDR)"
  return std::strtod(read_line(device / "ports" / "1" / "rate").c_str(), nullptr);
}

void add_card(const fs::path& entry, double gbit, std::vector<HostDevice>& cards) {
  HostDevice card = read_pci_device(entry / "device");
  if (card.bridges.size() < 2) return;  // virtual
  card.model = entry.filename().string();
  card.gbit = gbit;
  const auto same = std::find_if(cards.begin(), cards.end(),
                                 [&](const HostDevice& other) { return other.bridges == card.bridges; });
  if (same == cards.end())
    cards.push_back(std::move(card));
  else
    same->gbit = std::max(same->gbit, gbit);
}

}  // namespace

HostDevice read_pci_device(const fs::path& directory) {
  std::error_code error;
  fs::path real = fs::canonical(directory, error);
  HostDevice device;
  if (error) return device;
  while (!is_pci(real.filename().string()) && real.has_relative_path())
    real = real.parent_path();  // virtio and such
  device.bridges = bridges_of(real);
  device.numa = std::max(0, find_integer<int>(read_line(real / "numa_node")).value_or(0));
  device.pcie_gen = lower_known(generation(real), generation(real.parent_path()));
  device.pcie_width = lower_known(lanes(real), lanes(real.parent_path()));
  return device;
}

std::vector<HostDevice> read_nics(const fs::path& sysfs) {
  std::vector<HostDevice> cards;
  for (const fs::path& entry : entries(sysfs / "class" / "infiniband"))
    add_card(entry, gbit_of_infiniband(entry), cards);
  for (const fs::path& entry : entries(sysfs / "class" / "net")) add_card(entry, gbit_of_net(entry), cards);
  for (std::size_t i = 0; i < cards.size(); ++i) cards[i].name = "NIC" + std::to_string(i);
  return cards;
}

std::vector<std::string> read_nvidia_gpus(const fs::path& sysfs) {
  std::vector<std::string> addresses;
  for (const fs::path& entry : entries(sysfs / "bus" / "pci" / "devices"))
    if (read_line(entry / "vendor") == "0x10de" && read_line(entry / "class").starts_with("0x03"))
      addresses.push_back(entry.filename().string());
  return addresses;
}

}  // namespace gradwire
