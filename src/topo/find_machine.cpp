#include <algorithm>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"
#include "topo/build/box_name.h"
#include "topo/import/machine_file.h"
#include "topo/import/nccl_xml.h"
#include "topo/import/this_machine.h"
#include "topo/machine.h"

namespace gradwire {
namespace {

struct Wish {
  int nodes = 0;  // 0: not said
  std::string_view base;
  std::optional<NetworkSpec> network;
  const NamedFiles& files;
};

Wish parse_wish(std::string_view on, const NamedFiles& files) {
  Wish wish{.nodes = 0, .base = on, .network = {}, .files = files};
  if (files.has(on)) return wish;
  if (const auto star = on.find('*'); star != std::string_view::npos) {
    const auto nodes = find_integer<int>(trim(on.substr(0, star)));
    if (!nodes || *nodes < 1)
      throw ConfigError(
          fmt::format("'{}': what stands before * is the number of nodes, as in 4*dgx-h100@ndr", on));
    wish.nodes = *nodes;
    wish.base = on.substr(star + 1);
  }
  if (const auto at = wish.base.rfind('@'); at != std::string_view::npos && !files.has(wish.base)) {
    wish.network = find_network(lower_case(wish.base.substr(at + 1)));
    wish.base = wish.base.substr(0, at);
  }
  return wish;
}

Machine build(const NodeSpec& node, int nodes, const Wish& wish, std::string source) {
  Machine machine = build_machine(node, wish.nodes > 0 ? wish.nodes : nodes, wish.network);
  machine.source = std::move(source);
  return machine;
}

Machine from_yaml(const std::string& path, const std::string& text, std::string_view gpu, const Wish& wish) {
  if (text.find("gpu:") == std::string::npos && text.find("\"gpu\"") == std::string::npos)
    throw ConfigError(fmt::format(
        "{}: this is no machine: neither `nvidia-smi topo -m`, nor NCCL's topology XML, nor YAML with a gpu",
        path));
  const std::vector<MachinePreset> machines = parse_machines(text, path);
  if (machines.size() > 1)
    throw ConfigError(fmt::format("{}: there are {} machines in it, one is needed", path, machines.size()));
  NodeSpec node = machines[0].node;
  if (!gpu.empty())
    throw ConfigError(
        fmt::format("{0}:{1}: {0} says itself which GPU it is about, {2}: write {0}", path, gpu, node.gpu));
  node.name = path;  // what --on takes; its id is no machine
  return build(node, machines[0].nodes, wish, path);
}

Machine from_file(const std::string& path, std::string_view gpu, const Wish& wish) {
  const std::string text = wish.files.read(path);
  if (trim(text).starts_with('<')) {
    Machine machine = machine_from_xml(
        text, path, {.nodes = std::max(1, wish.nodes), .gpu = std::string(gpu), .network = wish.network});
    machine.source = "NCCL topology in " + path;
    return machine;
  }
  if (!looks_like_machine_file(text) && looks_like_matrix(text)) {
    const MatrixNode found = node_from_matrix(text, path, gpu);
    Machine machine = build(found.node, 1, wish, "nvidia-smi topo -m in " + path);
    machine.notes.insert(machine.notes.begin(), found.notes.begin(), found.notes.end());
    return machine;
  }
  return from_yaml(path, text, gpu, wish);
}

// FILE or FILE:GPU
std::optional<Machine> find_file(const Wish& wish) {
  if (wish.files.has(wish.base)) return from_file(std::string(wish.base), "", wish);
  const auto colon = wish.base.rfind(':');
  if (colon == std::string_view::npos || !wish.files.has(wish.base.substr(0, colon))) return std::nullopt;
  return from_file(std::string(wish.base.substr(0, colon)), wish.base.substr(colon + 1), wish);
}

[[noreturn]] void refuse_gpu(std::string_view base, const Gpu& gpu) {
  std::vector<std::string> boxes;
  const auto add = [&](BoxLink link) { boxes.push_back(fmt::format("2x-{}-{}", gpu.id, to_string(link))); };
  if (gpu.nvlink_links > 0) add(gpu.nvswitch ? BoxLink::nvswitch : BoxLink::nvlink);
  add(BoxLink::pcie);
  throw ConfigError(
      fmt::format("'{}' is a GPU, not a machine: write {} for two of them", base, join(boxes, " or ")));
}

[[noreturn]] void refuse(const Wish& wish) {
  const std::string_view base = wish.base.substr(0, wish.base.rfind(':'));  // FILE:GPU
  const bool path = base.find('/') != std::string_view::npos || base.ends_with(".yaml") ||
                    base.ends_with(".yml") || base.ends_with(".xml") || base.ends_with(".txt");
  if (wish.files.is_folder(base))
    throw ConfigError(fmt::format("{}: this is a directory; name a file in it", base));
  if (path) throw ConfigError(fmt::format("{}: there is no such file", base));
  if (const Gpu* gpu = find_gpu_called(base)) refuse_gpu(base, *gpu);
  std::vector<std::string> names = {"this"};
  for (const MachinePreset& preset : all_machines()) names.push_back(preset.node.name);
  throw ConfigError(
      fmt::format("'{}' is no machine Gradwire knows{}; see `gradwire list machines`, or write "
                  "4x-rtx4090-pcie, 2*dgx-a100@hdr, or a file",
                  base, did_you_mean(lower_case(base), names)));
}

std::optional<Machine> find_preset(std::string_view name, const Wish& wish) {
  for (const MachinePreset& preset : all_machines())
    if (preset.node.name == name) {
      Machine machine = build(preset.node, preset.nodes, wish, "preset " + preset.node.name);
      machine.origin = MachineOrigin::preset;
      return machine;
    }
  return std::nullopt;
}

// The preset of as many such cards without NVLink, by the names that it may have: 8x-a100-pcie, 2x-h100-pcie-pcie.
const MachinePreset* find_without_nvlink(const NodeSpec& node) {
  const Gpu gpu = find_gpu(node.gpu);
  auto words = gpu.aliases;
  words.push_back(gpu.id);
  for (const MachinePreset& preset : all_machines())
    for (const std::string& word : words)
      for (const std::string_view link : {"-pcie", ""})
        if (preset.node.name == fmt::format("{}x-{}{}", node.gpus, word, link) && preset.node.gpu == gpu.id &&
            preset.node.intra == Intra::pcie)
          return &preset;
  return nullptr;
}

// Where its name says no tree, a box has that of its preset without NVLink: who compares the two compares links, not trees.
Machine build_box(NodeSpec node, const Wish& wish) {
  const MachinePreset* like = node.pcie ? nullptr : find_without_nvlink(node);
  if (like != nullptr) {
    node.pcie = like->node.pcie;
    node.cpu = like->node.cpu;
    node.cpu_model = like->node.cpu_model;
  }
  Machine machine = build(node, 1, wish, "described by its name");
  machine.origin = MachineOrigin::name;
  if (like != nullptr)
    machine.notes.push_back(fmt::format("the PCIe tree is not stated: taken as that of {}", like->node.name));
  return machine;
}

Machine find_base(const Wish& wish) {
  if (auto machine = find_preset(wish.base, wish)) return std::move(*machine);
  if (wish.base == "this") return this_machine({.nodes = std::max(1, wish.nodes), .network = wish.network});
  if (auto machine = find_file(wish)) return std::move(*machine);
  if (auto machine = find_preset(lower_case(wish.base), wish)) return std::move(*machine);
  if (const auto box = find_box(wish.base)) return build_box(*box, wish);
  refuse(wish);
}

}  // namespace

Machine find_machine(std::string_view on, const NamedFiles& files) {
  const std::string_view text = trim(on);
  Machine machine = find_base(parse_wish(text, files));
  machine.name = std::string(text);
  return machine;
}

}  // namespace gradwire
