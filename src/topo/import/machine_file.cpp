#include "topo/import/machine_file.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "topo/rates.h"
#include "topo/yaml.h"

namespace gradwire {
namespace {

constexpr Range kCount = {0, 1024};

PcieLayout read_layout(const YamlMap& entry) {
  entry.only({"gpus_per_switch", "switches_per_upper", "gpus_per_bridge", "gpus_per_socket",
              "sockets_per_board", "sockets", "uplink_gen", "uplink_width", "slot_widths", "slot_gens",
              "card_widths", "card_gens"});
  const auto count = [&](std::string_view key) { return entry.find_integer(key, kCount).value_or(0); };
  PcieLayout layout;
  layout.gpus_per_switch = count("gpus_per_switch");
  layout.switches_per_upper = count("switches_per_upper");
  layout.gpus_per_bridge = count("gpus_per_bridge");
  layout.gpus_per_socket = count("gpus_per_socket");
  layout.sockets_per_board = count("sockets_per_board");
  layout.sockets = entry.find_integer("sockets", {1, 64}).value_or(0);
  layout.uplink_gen = entry.find_integer("uplink_gen", {1, 6}).value_or(0);
  layout.uplink_width = entry.find_integer("uplink_width", {1, 32}).value_or(0);
  layout.slot_widths = entry.integers("slot_widths", {0, 32});
  layout.slot_gens = entry.integers("slot_gens", {0, 6});
  layout.card_widths = entry.integers("card_widths", {0, 32});
  layout.card_gens = entry.integers("card_gens", {0, 6});
  return layout;
}

bool cards_at_switch(const YamlMap& entry) {
  const std::string at = entry.find_text("cards_at").value_or("switch");
  if (at != "switch" && at != "socket") entry.fail("cards_at", "switch or socket");
  return at == "switch";
}

NetworkSpec take_network(const YamlMap& entry) {
  entry.only({"id", "kind", "gbit", "cards", "gpudirect", "latency_us", "rails", "cards_at"});
  NetworkSpec network;
  if (const auto id = entry.find_text("id")) network = find_network(*id);
  if (const auto kind = entry.find_text("kind")) {
    network.kind = find_network_kind(*kind);
    if (!network.kind) entry.fail("kind", "infiniband, roce, efa, ethernet, slingshot or omnipath");
  }
  if (const auto gbit = entry.find_number("gbit", {0.001, 10000})) network.gbit_per_nic = gbit;
  if (const auto cards = entry.find_integer("cards", {1, 256})) network.nics_per_node = cards;
  if (const auto direct = entry.find_flag("gpudirect")) network.gpudirect = direct;
  if (const auto latency = entry.find_number("latency_us", {0, 1e6})) network.latency = *latency * 1e-6;
  if (const auto rails = entry.find_flag("rails")) network.rails = rails;
  return network;
}

std::vector<NvlinkBond> read_nvlinks(const YamlMap& entry) {
  std::vector<NvlinkBond> bonds;
  for (const std::vector<int>& row : entry.rows("nvlinks", kCount)) {
    if (row.size() != 3) entry.fail("nvlinks", "a list of [gpu, gpu, links]");
    bonds.push_back({row[0], row[1], row[2]});
  }
  return bonds;
}

void read_cpu(const YamlMap& entry, NodeSpec& node) {
  const auto cpu = entry.find_text("cpu");
  if (!cpu) return;
  const auto& known = all_processors();
  const bool model =
      std::any_of(known.begin(), known.end(), [&](const Processor& p) { return p.id == *cpu; });
  node.cpu = model ? std::nullopt : find_cpu_maker(*cpu);
  if (node.cpu) return;
  node.cpu_model = find_processor(*cpu).id;
  node.cpu = find_processor(*cpu).maker;
}

void take_gpu(const YamlMap& entry, const std::vector<Gpu>& own, NodeSpec& node) {
  node.gpu = entry.find_text("gpu").value_or("");
  const auto found = std::find_if(own.begin(), own.end(), [&](const Gpu& gpu) { return gpu.id == node.gpu; });
  if (found != own.end()) node.gpu_facts = *found;
  if (!node.gpu.empty() && !node.gpu_facts) node.gpu = find_gpu(node.gpu).id;
  if (entry.has("gpus")) node.gpus = *entry.find_integer("gpus", {1, 1024});
}

void take_links(const YamlMap& entry, NodeSpec& node) {
  if (const auto intra = entry.find_text("intra")) {
    node.intra = find_intra(*intra);
    if (!node.intra) entry.fail("intra", "nvswitch, nvlink-mesh, nvlink-pairs or pcie");
  }
  node.nvlink_gen = entry.find_integer("nvlink_gen", {1, 5});
  node.nvlink_links_per_gpu = entry.find_integer("nvlink_links_per_gpu", {1, 72});
  node.nvlink_links_per_pair = entry.find_integer("nvlink_links_per_pair", {1, 72});
  node.nvlinks = read_nvlinks(entry);
  node.p2p = entry.find_flag("p2p");
  node.pcie_gen = entry.find_integer("pcie_gen", {1, 6});
  node.pcie_width = entry.find_integer("pcie_width", {1, 32});
  if (const auto pcie = entry.find_map("pcie")) node.pcie = read_layout(*pcie);
}

// What can't be assumed without being wrong as often as right; so a file that was cut off is noticed, too.
void check_whole(const YamlMap& entry, const NodeSpec& node) {
  if (!entry.has("gpu")) entry.fail("gpu", "an id of `gradwire list gpus`");
  if (!entry.has("gpus") && !entry.has("matrix") && !entry.has("gpu_indices"))
    entry.fail("gpus", "a whole number from 1 to 1024");
  const bool joined = entry.has("intra") || entry.has("matrix") || entry.has("nvlinks");
  if (node.gpus > 1 && !joined) entry.fail("intra", "nvswitch, nvlink-mesh, nvlink-pairs or pcie");
}

void check_keys(const YamlMap& entry) {
  entry.only({"id",
              "title",
              "gpu",
              "gpus",
              "nodes",
              "intra",
              "nvlink_gen",
              "nvlink_links_per_gpu",
              "nvlink_links_per_pair",
              "nvlinks",
              "p2p",
              "pcie_gen",
              "pcie_width",
              "cpu",
              "pcie",
              "matrix",
              "gpu_indices",
              "network",
              "nccl",
              "source"});
}

// `name` is for a machine that has none itself; empty: it must have one.
MachinePreset read_machine(const YamlMap& entry, const std::vector<Gpu>& own_gpus,
                           const std::string& name = "") {
  check_keys(entry);
  MachinePreset preset;
  NodeSpec& node = preset.node;
  node.name = name.empty() || entry.has("id") ? entry.text("id") : name;
  preset.title = entry.find_text("title").value_or("");
  preset.source = entry.find_text("source").value_or("");
  preset.nodes = entry.find_integer("nodes", {1, 65536}).value_or(1);
  if (entry.has("matrix")) {
    node.matrix = parse_matrix(entry.lines("matrix"), entry.place());
    node.gpus = node.matrix->gpus;
  }
  take_gpu(entry, own_gpus, node);
  take_links(entry, node);
  read_cpu(entry, node);
  node.gpu_indices = entry.integers("gpu_indices", kCount);
  if (!node.gpu_indices.empty() && !entry.has("gpus")) node.gpus = static_cast<int>(node.gpu_indices.size());
  if (const auto network = entry.find_map("network")) {
    node.network = take_network(*network);
    if (!node.pcie && network->has("cards_at")) node.pcie = PcieLayout{};
    if (node.pcie) node.pcie->nics_at_switch = cards_at_switch(*network);
  }
  if (const auto version = entry.find_text("nccl")) {
    node.nccl = find_nccl_version(*version);
    if (!node.nccl) entry.fail("nccl", "a version, as in 2.26");
  }
  check_whole(entry, node);
  return preset;
}

}  // namespace

bool looks_like_machine_file(std::string_view text) {
  const auto says = [](std::string_view line) {
    line = trim(line);
    if (line.starts_with("- ")) line = trim(line.substr(2));
    return line.starts_with("gpu:") || line.starts_with("matrix:");
  };
  return std::ranges::any_of(split(text, '\n'), says);
}

std::vector<MachinePreset> parse_machines(std::string_view yaml, std::string_view where) {
  const YamlMap file = parse_yaml(yaml, where);
  if (!file.has("machines")) return {read_machine(file, {}, std::string(where))};
  file.only({"machines", "gpus"});
  const std::vector<Gpu> own_gpus = file.has("gpus") ? read_gpus(file) : std::vector<Gpu>{};
  std::vector<MachinePreset> presets;
  for (const YamlMap& entry : file.maps("machines")) presets.push_back(read_machine(entry, own_gpus));
  if (presets.empty()) throw ConfigError(fmt::format("{}: there is no machine in it", where));
  return presets;
}

const std::vector<MachinePreset>& all_machines() {
  static const std::vector<MachinePreset> machines =
      parse_machines(preset_text("machines.yaml"), "presets/machines.yaml");
  return machines;
}

}  // namespace gradwire
