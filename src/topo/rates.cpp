#include "topo/rates.h"

#include <algorithm>

#include "base/error.h"
#include "base/similar.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

constexpr Range kRate = {0, 1e6}, kLatency = {0, 1e6}, kVersion = {0, 9999};

LinkKind link_kind(const YamlMap& entry) {
  const std::string kind = entry.text("kind");
  for (const LinkKind known : {LinkKind::nvlink, LinkKind::c2c, LinkKind::pcie, LinkKind::internal})
    if (kind == to_string(known)) return known;
  entry.fail("kind", "nvlink, c2c, pcie or internal");
}

LinkPreset read_link(const YamlMap& entry) {
  entry.only({"id", "title", "kind", "gen", "gb_per_s", "nominal", "nccl", "latency_us", "source"});
  LinkPreset link;
  link.id = entry.text("id");
  link.title = entry.text("title");
  link.source = entry.text("source");
  link.kind = link_kind(entry);
  link.generation = entry.find_integer("gen", {1, 9}).value_or(0);
  link.rate = {.bytes_per_s = entry.number("gb_per_s", kRate) * kGiga,
               .nominal_bytes_per_s = entry.number("nominal", kRate) * kGiga,
               .nccl_bytes_per_s = entry.number("nccl", kRate) * kGiga,
               .latency = entry.number("latency_us", kLatency) * kMicro};
  return link;
}

const LinkPreset* find_link(LinkKind kind, int generation) {
  for (const LinkPreset& link : all_links())
    if (link.kind == kind && link.generation == generation) return &link;
  return nullptr;
}

Rate times(Rate rate, double factor) {
  rate.bytes_per_s *= factor;
  rate.nominal_bytes_per_s *= factor;
  rate.nccl_bytes_per_s *= factor;
  return rate;
}

struct Shares {
  double memory, socket;  // achieved of nominal
  Seconds memory_latency, socket_latency;
};

Rate read_socket(const YamlMap& entry, const Shares& shares) {
  const auto link = entry.find_map("socket_link");
  if (!link) return {};
  link->only({"links", "gb_per_s", "achieved", "nccl"});
  const double nominal = link->number("links", {1, 16}) * link->number("gb_per_s", kRate) * kGiga;
  const auto achieved = link->find_number("achieved", kRate);
  return {.bytes_per_s = achieved ? *achieved * kGiga : nominal * shares.socket,
          .nominal_bytes_per_s = nominal,
          .nccl_bytes_per_s = link->number("nccl", kRate) * kGiga,
          .latency = shares.socket_latency};
}

CpuMaker maker_in(const YamlMap& entry) {
  const auto maker = find_cpu_maker(entry.text("maker"));
  if (!maker) entry.fail("maker", "amd, intel, power or grace");
  return *maker;
}

Processor processor_preset(const YamlMap& entry, const Shares& shares) {
  entry.only({"id", "maker", "title", "pcie_gen", "memory_gb_per_s", "socket_link", "named", "root_buses",
              "desktop", "numbered_alike", "source"});
  Processor cpu;
  cpu.id = entry.text("id");
  cpu.title = entry.text("title");
  cpu.source = entry.text("source");
  cpu.maker = maker_in(entry);
  cpu.pcie_gen = static_cast<int>(entry.number("pcie_gen", {1, 6}));
  const double memory = entry.number("memory_gb_per_s", kRate) * kGiga;
  cpu.memory = {.bytes_per_s = memory * shares.memory / 2,
                .nominal_bytes_per_s = memory,
                .nccl_bytes_per_s = memory,
                .latency = shares.memory_latency};
  cpu.socket = read_socket(entry, shares);
  cpu.named = entry.find_text("named").value_or("");
  cpu.root_buses = entry.integers("root_buses", {0, 255});
  cpu.numbered_alike = entry.find_flag("numbered_alike").value_or(false);
  cpu.desktop = entry.find_flag("desktop").value_or(false);
  return cpu;
}

MakerRules::PeerAccess peer_access_preset(const YamlMap& entry) {
  entry.only({"since", "gpus_over", "up_to"});
  const auto reach = find_path_class(entry.text("up_to"));
  if (!reach) entry.fail("up_to", "a distance as pxb or sys");
  return {entry.find_integer("since", kVersion).value_or(0),
          entry.find_integer("gpus_over", {0, 1024}).value_or(0), *reach};
}

MakerRules maker_preset(const YamlMap& entry) {
  entry.only({"maker", "root_cost", "peer_access", "socket_limit_since", "one_way_since", "one_socket"});
  MakerRules rules;
  rules.maker = maker_in(entry);
  rules.root_cost = entry.find_number("root_cost", {1, 10}).value_or(1);
  for (const YamlMap& one : entry.maps("peer_access")) rules.peer_access.push_back(peer_access_preset(one));
  rules.socket_limit_since = entry.find_integer("socket_limit_since", kVersion).value_or(0);
  rules.one_way_since = entry.find_integer("one_way_since", kVersion).value_or(0);
  rules.one_socket = entry.find_flag("one_socket").value_or(false);
  return rules;
}

std::vector<Processor> read_processors() {
  const YamlMap& file = parse_built_in(preset_text("cpus.yaml"), "presets/cpus.yaml");
  const Shares shares = {.memory = file.number("memory_achieved", {0, 1}),
                         .socket = file.number("socket_achieved", {0, 1}),
                         .memory_latency = file.number("memory_latency_us", kLatency) * kMicro,
                         .socket_latency = file.number("socket_latency_us", kLatency) * kMicro};
  std::vector<Processor> cpus;
  for (const YamlMap& entry : file.maps("cpus")) cpus.push_back(processor_preset(entry, shares));
  return cpus;
}

}  // namespace

const std::vector<LinkPreset>& all_links() {
  static const std::vector<LinkPreset> links = [] {
    std::vector<LinkPreset> read;
    for (const YamlMap& entry : parse_yaml(preset_text("links.yaml"), "presets/links.yaml").maps("links"))
      read.push_back(read_link(entry));
    return read;
  }();
  return links;
}

Rate pcie_rate(int generation, int width) {
  const LinkPreset* link = find_link(LinkKind::pcie, generation);
  if (link == nullptr)
    throw ConfigError(fmt::format("there is no PCIe generation {}: they are 1 to 6", generation));
  if (width < 1 || width > 32) throw ConfigError(fmt::format("a PCIe slot has 1 to 32 lanes, not {}", width));
  return times(link->rate, width / 16.0);
}

Rate nvlink_rate(const Gpu& gpu, int generation, int links) {
  const LinkPreset* link = find_link(LinkKind::nvlink, generation);
  if (link == nullptr)
    throw ConfigError(fmt::format("there is no NVLink generation {}: they are 1 to 5", generation));
  Rate rate = link->rate;
  if (gpu.nvlink_gen == generation && gpu.nvlink_bytes_per_s_per_link > 0) {
    rate.nominal_bytes_per_s = gpu.nvlink_bytes_per_s_per_link;
    rate.bytes_per_s = rate.nccl_bytes_per_s = gpu.nccl_bytes_per_s_per_link;
  }
  return times(rate, links);
}

Rate c2c_rate(const Gpu& gpu) {
  const LinkPreset* link = find_link(LinkKind::c2c, 0);
  check(link != nullptr, "presets/links.yaml has no c2c");
  return times(link->rate, gpu.c2c_bytes_per_s / link->rate.nominal_bytes_per_s);
}

Rate internal_rate() {
  const LinkPreset* link = find_link(LinkKind::internal, 0);
  check(link != nullptr, "presets/links.yaml has no internal");
  return link->rate;
}

const std::vector<Processor>& all_processors() {
  static const std::vector<Processor> cpus = read_processors();
  return cpus;
}

Processor find_processor(std::string_view id) {
  std::vector<std::string> ids;
  for (const Processor& cpu : all_processors()) {
    if (cpu.id == id) return cpu;
    ids.push_back(cpu.id);
  }
  throw ConfigError(fmt::format("'{}' is not a processor Gradwire knows{}; see presets/cpus.yaml", id,
                                did_you_mean(id, ids)));
}

// NCCL writes the families of AMD with the extended family in the high digit: 0x8f is 0x17.
Processor processor_of(std::string_view vendor, int family, int model) {
  if (vendor == "AuthenticAMD") {
    const int zen = family > 0x7f ? (family >> 4) + 0xf : family;
    if (zen < 0x17 || (zen == 0x17 && model < 0x30)) return find_processor("epyc-naples");
    if (zen == 0x17 || (zen == 0x19 && model < 0x10)) return find_processor("epyc-rome");
    return find_processor(zen == 0x19 ? "epyc-genoa" : "epyc-turin");
  }
  if (vendor == "GenuineIntel") {  // models as NCCL tells them apart, topo.cc
    if (model >= 0xcf) return find_processor("xeon-emerald");
    if (model >= 0x8f) return find_processor("xeon-sapphire");
    if (model == 0x6a || model == 0x6c) return find_processor("xeon-icelake");
    return find_processor(model >= 0x55 ? "xeon-skylake" : "xeon-e5");
  }
  if (vendor == "ARM") return find_processor("grace");
  return find_processor("xeon-skylake");
}

Processor usual_processor(std::optional<CpuMaker> maker, int pcie_gen) {
  switch (maker.value_or(pcie_gen == 4 ? CpuMaker::amd : CpuMaker::intel)) {
    case CpuMaker::amd:
      return find_processor(pcie_gen <= 3 ? "epyc-naples" : pcie_gen == 4 ? "epyc-rome" : "epyc-genoa");
    case CpuMaker::power:
      return find_processor(pcie_gen <= 3 ? "power8" : "power9");
    case CpuMaker::grace:
      return find_processor("grace");
    default:
      break;
  }
  return find_processor(pcie_gen <= 3 ? "xeon-skylake" : pcie_gen == 4 ? "xeon-icelake" : "xeon-sapphire");
}

// Makers that have no rules of their own follow those of the unknown one, which the file must have.
const MakerRules& maker_rules(CpuMaker maker) {
  static const std::vector<MakerRules> all = [] {
    std::vector<MakerRules> read;
    for (const YamlMap& entry : parse_built_in(preset_text("cpus.yaml"), "presets/cpus.yaml").maps("makers"))
      read.push_back(maker_preset(entry));
    return read;
  }();
  const auto found = std::ranges::find(all, maker, &MakerRules::maker);
  if (found != all.end()) return *found;
  check(maker != CpuMaker::unknown, "presets/cpus.yaml has rules for unknown makers");
  return maker_rules(CpuMaker::unknown);
}

}  // namespace gradwire
