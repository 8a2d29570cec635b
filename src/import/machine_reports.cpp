#include "import/machine_reports.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"

namespace gradwire {
namespace {

double leading_number(std::string_view text) {
  double value = 0;
  std::from_chars(text.data(), text.data() + text.size(), value);
  return value;
}

double number_behind(std::string_view line, std::string_view word) {
  const auto at = line.find(word);
  return at == std::string_view::npos ? 0 : leading_number(trim(line.substr(at + word.size())));
}

// Lanes, or which GPU: 0 where it can't be.
int count_behind(std::string_view line, std::string_view word) {
  constexpr double kMost = 1 << 16;
  const double number = number_behind(line, word);
  return number >= 0 && number <= kMost ? static_cast<int>(number) : 0;
}

// "65:00.0 VGA compatible controller: NVIDIA ..." or with the domain "0000:65:00.0".
bool begins_device(std::string_view line) {
  const auto slot = line.substr(0, line.find(' '));
  return slot.size() >= 7 && slot.size() <= 12 && std::isxdigit(static_cast<unsigned char>(slot[0])) &&
         slot[slot.size() - 2] == '.' && slot[slot.size() - 5] == ':';
}

PciReport::Device device_of(std::string_view line, int number) {
  PciReport::Device device;
  const auto blank = std::min(line.find(' '), line.size());
  device.slot = std::string(line.substr(0, blank));
  device.name = std::string(trim(line.substr(blank)).substr(0, 120));
  device.gpu =
      (line.find("NVIDIA") != std::string_view::npos || line.find("AMD/ATI") != std::string_view::npos) &&
      (line.find("VGA") != std::string_view::npos || line.find("3D controller") != std::string_view::npos ||
       line.find("Display controller") != std::string_view::npos ||
       line.find("Processing accel") != std::string_view::npos);
  device.bridge = line.find("PCI bridge") != std::string_view::npos;
  device.line = number;
  return device;
}

void read_device_line(std::string_view line, int number, PciReport::Device& device) {
  if (line.starts_with("LnkCap:")) {
    device.speed_most = number_behind(line, "Speed ");
    device.width_most = count_behind(line, "Width x");
  } else if (line.starts_with("LnkSta:")) {
    device.speed_now = number_behind(line, "Speed ");
    device.width_now = count_behind(line, "Width x");
    if (device.gpu) device.line = number;
  } else if (line.starts_with("ACSCtl:")) {
    device.acs_line = number;
    device.redirects = line.find("ReqRedir+") != std::string_view::npos ||
                       line.find("CmpltRedir+") != std::string_view::npos ||
                       line.find("UpstreamFwd+") != std::string_view::npos;
  }
}

}  // namespace

PciReport parse_lspci(std::string_view text, const std::string& name) {
  PciReport report;
  report.file = name;
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    if (begins_device(raw))
      report.devices.push_back(device_of(raw, number));
    else if (!report.devices.empty())
      read_device_line(trim(raw), number, report.devices.back());
  }
  return report;
}

PciReport parse_smi_query(std::string_view text, const std::string& name) {
  PciReport report;
  report.file = name;
  int number = 0;
  bool width = false;  // the lines after "Link Width"
  for (const auto raw : split(text, '\n')) {
    ++number;
    const auto line = trim(raw);
    if (line.starts_with("GPU ") && line.find(':') != std::string_view::npos &&
        line.find(" : ") == std::string_view::npos) {
      PciReport::Device device;
      device.slot = std::string(line.substr(4));
      device.gpu = true;
      device.line = number;
      report.devices.push_back(std::move(device));
    }
    if (line.starts_with("Link Width") || line.starts_with("PCIe Generation"))
      width = line.starts_with("Link Width");
    if (!width || report.devices.empty()) continue;
    if (line.starts_with("Max")) report.devices.back().width_most = count_behind(line, ":");
    if (line.starts_with("Current")) {
      report.devices.back().width_now = count_behind(line, ":");
      report.devices.back().line = number;
      width = false;
    }
  }
  return report;
}

NvlinkReport parse_nvlink_status(std::string_view text, const std::string& name) {
  NvlinkReport report;
  report.file = name;
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    const auto line = trim(raw);
    if (line.starts_with("GPU ")) {
      NvlinkReport::Gpu gpu;
      gpu.index = count_behind(line, "GPU ");
      const auto colon = line.find(": ");
      if (colon != std::string_view::npos)
        gpu.name = std::string(trim(line.substr(colon + 2, line.find(" (UUID") - colon - 2)));
      gpu.line = number;
      report.gpus.push_back(std::move(gpu));
    } else if (line.starts_with("Link ") && !report.gpus.empty()) {
      auto& gpu = report.gpus.back();
      const bool down =
          line.find("inactive") != std::string_view::npos || line.find("N/A") != std::string_view::npos;
      if (down && gpu.inactive == 0) gpu.line = number;
      ++(down ? gpu.inactive : gpu.active);
    }
  }
  return report;
}

}  // namespace gradwire
