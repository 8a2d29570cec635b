#include "topo/network.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

constexpr std::array kKinds = {"infiniband", "roce", "efa", "ethernet", "slingshot", "omnipath"};
constexpr double kBytesPerGbit = 1e9 / 8;
constexpr double kMostGbit = 10000;

NetworkPreset network_preset(const YamlMap& entry) {
  entry.only({"id", "title", "kind", "gbit", "gbit_achieved", "latency_us", "rails", "source"});
  NetworkPreset preset;
  preset.spec.name = entry.text("id");
  preset.spec.kind = find_network_kind(entry.text("kind"));
  if (!preset.spec.kind) entry.fail("kind", "one of " + join({kKinds.begin(), kKinds.end()}, ", "));
  preset.spec.gbit_per_nic = entry.number("gbit", {0.001, kMostGbit});
  preset.gbit_achieved = entry.number("gbit_achieved", {0.001, *preset.spec.gbit_per_nic});
  preset.spec.latency = entry.number("latency_us", {0, 1e6}) * kMicro;
  preset.spec.rails = entry.find_flag("rails").value_or(false);
  preset.title = entry.text("title");
  preset.source = entry.text("source");
  return preset;
}

// "8x-ndr" is eight cards of ndr.
std::optional<int> take_cards(std::string_view& name) {
  const auto mark = name.find("x-");
  if (mark == std::string_view::npos) return std::nullopt;
  const auto count = find_integer<int>(name.substr(0, mark));
  if (!count) return std::nullopt;
  if (*count < 1 || *count > 256)
    throw ConfigError(fmt::format("'{}': a node has 1 to 256 network cards, not {}", name, *count));
  name.remove_prefix(mark + 2);
  return count;
}

// Rates that no preset has: "75gbe", "roce-300", "efa-800".
std::optional<NetworkSpec> find_by_rate(std::string_view name) {
  NetworkSpec spec;
  spec.name = std::string(name);
  std::string_view number = name;
  if (name.ends_with("gbe")) {
    spec.kind = NetworkKind::ethernet;
    number.remove_suffix(3);
  } else if (const auto dash = name.rfind('-'); dash != std::string_view::npos) {
    spec.kind = find_network_kind(name.substr(0, dash));
    number.remove_prefix(dash + 1);
  }
  const auto gbit = find_integer<int>(number);
  if (!spec.kind || !gbit || *gbit < 1 || *gbit > kMostGbit) return std::nullopt;
  spec.gbit_per_nic = *gbit;
  return spec;
}

// TCP with GPU-direct extensions moves data as RDMA does.
NetworkKind rate_kind(const NetworkSpec& spec) {
  if (spec.kind == NetworkKind::ethernet && spec.gpudirect.value_or(false)) return NetworkKind::roce;
  return *spec.kind;
}

const NetworkPreset& nearest_preset(const NetworkSpec& spec) {
  const NetworkPreset* best = nullptr;
  double nearest = 0;
  for (const NetworkPreset& preset : all_networks()) {
    if (preset.spec.kind != rate_kind(spec)) continue;
    const double far = std::abs(std::log(*preset.spec.gbit_per_nic / *spec.gbit_per_nic));
    if (best != nullptr && far >= nearest) continue;
    best = &preset;
    nearest = far;
  }
  check(best != nullptr, "presets/networks.yaml lacks a kind of network");
  return *best;
}

}  // namespace

bool goes_direct(const NetworkSpec& network, bool otherwise) {
  return network.gpudirect.value_or(otherwise) && !network.cards_far;
}

std::string_view to_string(NetworkKind kind) { return kKinds.at(static_cast<std::size_t>(kind)); }

std::optional<NetworkKind> find_network_kind(std::string_view text) {
  const auto found = std::find(kKinds.begin(), kKinds.end(), text);
  if (found == kKinds.end()) return std::nullopt;
  return static_cast<NetworkKind>(found - kKinds.begin());
}

const std::vector<NetworkPreset>& all_networks() {
  static const std::vector<NetworkPreset> networks = [] {
    std::vector<NetworkPreset> read;
    for (const YamlMap& entry :
         parse_yaml(preset_text("networks.yaml"), "presets/networks.yaml").maps("networks"))
      read.push_back(network_preset(entry));
    return read;
  }();
  return networks;
}

NetworkSpec find_network(std::string_view text) {
  std::string_view name = text;
  const auto count = take_cards(name);
  std::vector<std::string> names;
  std::optional<NetworkSpec> found;
  for (const NetworkPreset& preset : all_networks()) {
    if (preset.spec.name == name) found = preset.spec;
    names.push_back(preset.spec.name);
  }
  if (!found) found = find_by_rate(name);
  if (!found)
    throw ConfigError(
        fmt::format("'{}' is not a network Gradwire knows{}; write for example ndr, 8x-hdr, 10gbe or "
                    "roce-100; see `gradwire list networks`",
                    name, did_you_mean(name, names)));
  found->nics_per_node = count;
  return *found;
}

Rate network_rate(const NetworkSpec& spec) {
  check(spec.kind && spec.gbit_per_nic, "a network needs kind and rate");
  const NetworkPreset& like = nearest_preset(spec);
  const double nominal = *spec.gbit_per_nic * kBytesPerGbit;
  return {.bytes_per_s = nominal * like.gbit_achieved / *like.spec.gbit_per_nic,
          .nominal_bytes_per_s = nominal,
          .nccl_bytes_per_s = nominal,
          .latency = spec.latency.value_or(*like.spec.latency)};
}

}  // namespace gradwire
