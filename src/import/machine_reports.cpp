#include "import/machine_reports.h"

#include <algorithm>
#include <cctype>
#include <charconv>

#include "base/text.h"
#include "topo/import/matrix_words.h"

namespace gradwire {
namespace {

bool says(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

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

int hex_behind(std::string_view line, std::string_view word) {
  const auto at = line.find(word);
  if (at == std::string_view::npos) return -1;
  const auto digits = line.substr(at + word.size(), 2);
  int value = -1;
  std::from_chars(digits.data(), digits.data() + digits.size(), value, 16);
  return value;
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

bool redirects_peers(std::string_view acs) {
  return says(acs, "ReqRedir+") || says(acs, "CmpltRedir+") || says(acs, "UpstreamFwd+");
}

void read_nameless_line(std::string_view line, int number, PciReport& report) {
  if (!line.starts_with("ACSCtl:") || !redirects_peers(line)) return;
  if (report.nameless_redirects++ == 0) report.nameless_line = number;
}

void read_device_line(std::string_view line, int number, PciReport::Device& device) {
  if (line.starts_with("LnkCap:")) {
    device.speed_most = number_behind(line, "Speed ");
    device.width_most = count_behind(line, "Width x");
  } else if (line.starts_with("LnkSta:")) {
    device.speed_now = number_behind(line, "Speed ");
    device.width_now = count_behind(line, "Width x");
    if (device.gpu) device.line = number;
  } else if (line.starts_with("Bus: primary=")) {
    device.first_bus = hex_behind(line, "secondary=");
    device.last_bus = hex_behind(line, "subordinate=");
  } else if (line.starts_with("ACSCtl:")) {
    device.acs_line = number;
    device.redirects = redirects_peers(line);
  }
}

// "HW Thermal Slowdown : Active" below "Clocks Event Reasons", before 535 "Clocks Throttle Reasons". A cap on power is usual.
void read_slowdown(std::string_view section, std::string_view line, int number, PciReport::Device& device) {
  const bool reasons = section == "Clocks Event Reasons" || section == "Clocks Throttle Reasons";
  const auto colon = line.find(':');
  if (!reasons || colon == std::string_view::npos || trim(line.substr(colon + 1)) != "Active") return;
  const auto why = trim(line.substr(0, colon));
  if (!says(why, "Slowdown")) return;
  device.slowed += (device.slowed.empty() ? "" : ", ") + std::string(why);
  device.slowed_line = number;
}

// "Max : 16x" below "Link Width", "State : In Progress" below "Fabric".
void read_query_line(std::string_view section, std::string_view line, int number, PciReport::Device& device) {
  if (section == "Link Width" && line.starts_with("Max")) device.width_most = count_behind(line, ":");
  if (section == "Link Width" && line.starts_with("Current")) {
    device.width_now = count_behind(line, ":");
    device.line = number;
  }
  if (section == "PCIe Generation" && line.starts_with("Max")) device.gen_most = count_behind(line, ":");
  if (section == "PCIe Generation" && line.starts_with("Current")) device.gen_now = count_behind(line, ":");
  if (section == "Utilization" && line.starts_with("G")) device.busy_percent = count_behind(line, ":");
  read_slowdown(section, line, number, device);
  if (line.starts_with("Product Name") && line.find(':') != std::string_view::npos)
    device.product = std::string(trim(line.substr(line.find(':') + 1)).substr(0, 80));
  if (section == "Fabric" && line.starts_with("State")) {
    device.fabric = std::string(trim(line.substr(line.find(':') + 1)).substr(0, 40));
    device.fabric_line = number;
  }
  if (section == "Fabric" && line.starts_with("Status"))
    device.fabric_status = std::string(trim(line.substr(line.find(':') + 1)).substr(0, 40));
}

// "GPU 00000000:18:00.0", and not "GPU 0: NVIDIA H200 (UUID: ...)" of another report.
bool is_slot_of_gpu(std::string_view line) {
  return line.starts_with("GPU ") && says(line, ":") && line.find(' ', 4) == std::string_view::npos;
}

// "Link 3: 26.562 GB/s", and not "Link Width".
bool is_state_of_link(std::string_view line) {
  return line.starts_with("Link ") && line.size() > 5 &&
         std::isdigit(static_cast<unsigned char>(line[5])) != 0;
}

// "GPU0 X OK CNS": a row of cells that say who may reach whom.
Words peer_cells(std::string_view line) {
  if (!names_a_gpu(line)) return {};
  Words words = matrix_words(line);
  if (words.size() < 3 || !is_gpu_name(words[0])) return {};
  const auto known = [](auto word) { return word == "X" || is_p2p_status(word); };
  return std::all_of(words.begin() + 1, words.end(), known) ? words : Words{};
}

}  // namespace

bool looks_like_peer_status(std::string_view text) {
  if (!names_a_gpu(text)) return false;
  const std::string clean = without_escapes(text);
  const auto lines = split(clean, '\n');
  return std::any_of(lines.begin(), lines.end(), [](auto line) { return !peer_cells(line).empty(); });
}

PeerReport parse_peer_status(std::string_view text, const std::string& name) {
  PeerReport report;
  report.file = name;
  int number = 0;
  const std::string clean = without_escapes(text);
  for (const auto line : split(clean, '\n')) {
    ++number;
    const auto cells = peer_cells(line);
    if (cells.empty()) continue;
    ++report.gpus;
    for (std::size_t i = 1; i < cells.size(); ++i)
      if (cells[i] != "X" && cells[i] != "OK" && cells[i] != "U")
        report.refusals.push_back(
            {std::string(cells[0]), "GPU" + std::to_string(i - 1), std::string(cells[i]), number});
  }
  return report;
}

bool PciReport::Device::is_above(const Device& device) const {
  const auto end = device.slot.size();  // "0000:65:00.0"
  if (end < 7 || slot.size() != end || slot.substr(0, end - 7) != device.slot.substr(0, end - 7))
    return false;
  const int bus = hex_behind(":" + device.slot.substr(end - 7), ":");
  return first_bus >= 0 && bus >= first_bus && bus <= last_bus;
}

bool looks_like_lspci(std::string_view text) {
  return says(text, "LnkSta:") || says(text, "LnkCap:") || says(text, "ACSCtl:");
}

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
    else
      read_nameless_line(trim(raw), number, report);
  }
  return report;
}

namespace {

// "Fabric", and the state below it: what `nvidia-smi -q | grep -A4 Fabric` leaves, which no GPU stands above.
bool begins_fabric(std::string_view text) {
  constexpr std::string_view kHeading = "Fabric\n";
  for (auto at = text.find(kHeading); at != std::string_view::npos; at = text.find(kHeading, at + 1)) {
    const auto below = text.substr(at + kHeading.size());
    const auto line = trim(below.substr(0, below.find('\n')));
    if (line.starts_with("State") && says(line, ":")) return true;
  }
  return false;
}

// What of it is left where somebody cut a report to the part in question: no GPU stands above.
constexpr std::string_view kPartsOfQuery[] = {"GPU Link Info", "Clocks Throttle Reasons",
                                              "Clocks Event Reasons", "Link Width"};

bool begins_part(std::string_view line) {
  return std::find(std::begin(kPartsOfQuery), std::end(kPartsOfQuery), line) != std::end(kPartsOfQuery);
}

bool holds_parts(std::string_view text) {
  int parts = 0, pairs = 0;
  for (const auto raw : split(text, '\n')) {
    const auto line = trim(raw);
    parts += begins_part(line);
    pairs += says(line, " : ");
  }
  return parts > 0 && pairs > 2;
}

PciReport::Device gpu_at(std::string_view slot, int line) {
  PciReport::Device device;
  device.slot = std::string(slot);
  device.gpu = true;
  device.line = line;
  return device;
}

}  // namespace

bool looks_like_smi_query(std::string_view text) {
  return says(text, "==============NVSMI LOG==============") || begins_fabric(text) || holds_parts(text);
}

PciReport parse_smi_query(std::string_view text, const std::string& name) {
  PciReport report;
  report.file = name;
  report.by_driver = true;
  int number = 0;
  std::string_view section;  // the heading above, of those that are looked into
  for (const auto raw : split(text, '\n')) {
    ++number;
    const auto line = trim(raw);
    auto& devices = report.devices;
    if (is_slot_of_gpu(line)) devices.push_back(gpu_at(line.substr(4), number));
    if (line == "Fabric" &&
        (devices.empty() || (devices.back().slot.empty() && !devices.back().fabric.empty())))
      devices.push_back(gpu_at("", number));
    if (devices.empty() && begins_part(line)) devices.push_back(gpu_at("", number));
    if (!line.empty() && line.find(':') == std::string_view::npos) section = line;
    if (!report.devices.empty()) read_query_line(section, line, number, report.devices.back());
  }
  return report;
}

// Of all GPUs or of one; the driver has a sentence where no link of a GPU is up.
bool looks_like_nvlink_status(std::string_view text) {
  return says(text, "(UUID: ") &&
         (says(text, "Link 0: ") || says(text, "Unable to retrieve NVLink information"));
}

bool looks_like_gpu_names(std::string_view text) {
  int gpus = 0;
  for (const auto raw : split(text, '\n')) {
    const auto line = trim(raw);
    const bool gpu = line.starts_with("GPU ") && says(line, ": ") && says(line, "(UUID: ");
    gpus += gpu;
    const bool beside = line.empty() || line.starts_with("MIG ") || says(line, "nvidia-smi");  // the command
    if (!gpu && !beside) return false;
  }
  return gpus > 0;
}

NvlinkReport parse_nvlink_status(std::string_view text, const std::string& name) {
  NvlinkReport report;
  report.file = name;
  report.names_alone = looks_like_gpu_names(text) && !says(text, "nvidia-smi nvlink");
  int number = 0;
  for (const auto raw : split(text, '\n')) {
    ++number;
    const auto line = trim(raw);
    if (line.starts_with("GPU ") && says(line, "(UUID: ")) {
      NvlinkReport::Gpu gpu;
      gpu.index = count_behind(line, "GPU ");
      const auto colon = line.find(": ");
      if (colon != std::string_view::npos)
        gpu.name = std::string(trim(line.substr(colon + 2, line.find(" (UUID") - colon - 2)));
      gpu.line = number;
      report.gpus.push_back(std::move(gpu));
    } else if (is_state_of_link(line) && !report.gpus.empty()) {
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
