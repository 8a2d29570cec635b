#include "topo/build/box_name.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "topo/gpu.h"

namespace gradwire {
namespace {

constexpr std::string_view kBoxLinks[] = {"nvlink", "nvswitch", "pcie"};
constexpr std::string_view kLayouts[] = {"pix", "pxb", "phb", "node", "sys"};

std::string_view take_last_word(std::string_view& name) {
  const auto dash = name.rfind('-');
  if (dash == std::string_view::npos) return {};
  const std::string_view word = name.substr(dash + 1);
  name = name.substr(0, dash);
  return word;
}

std::optional<int> take_gpus(std::string_view& name) {
  const auto mark = name.find("x-");
  if (mark == std::string_view::npos) return std::nullopt;
  const auto count = find_integer<int>(name.substr(0, mark));
  if (count) name.remove_prefix(mark + 2);
  return count;
}

Intra intra_of(BoxLink link, const Gpu& gpu) {
  if (link == BoxLink::pcie) return Intra::pcie;
  if (link == BoxLink::nvswitch || gpu.nvswitch) return Intra::nvswitch;
  return gpu.nvlink_mesh ? Intra::nvlink_mesh : Intra::nvlink_pairs;
}

// In full, as a machine's file says it: "-nvlink-pairs".
std::optional<Intra> take_intra(std::string_view& name) {
  for (const auto intra : {Intra::nvlink_pairs, Intra::nvlink_mesh})
    if (const auto word = fmt::format("-{}", to_string(intra)); name.ends_with(word)) {
      name.remove_suffix(word.size());
      return intra;
    }
  return std::nullopt;
}

bool is_layout(std::string_view word) {
  return std::find(std::begin(kLayouts), std::end(kLayouts), word) != std::end(kLayouts);
}

bool is_gpu(std::string_view word) {
  const auto& gpus = all_gpus();
  return std::any_of(gpus.begin(), gpus.end(), [&](const Gpu& gpu) {
    return gpu.id == word || std::find(gpu.aliases.begin(), gpu.aliases.end(), word) != gpu.aliases.end();
  });
}

}  // namespace

std::string_view to_string(BoxLink link) { return kBoxLinks[static_cast<std::size_t>(link)]; }

std::optional<BoxLink> find_box_link(std::string_view word) {
  const auto found = std::find(std::begin(kBoxLinks), std::end(kBoxLinks), word);
  if (found == std::end(kBoxLinks)) return std::nullopt;
  return static_cast<BoxLink>(found - std::begin(kBoxLinks));
}

// At most four GPUs share a socket unless the layout says they are all on one.
PcieLayout layout_of(std::string_view word, int gpus) {
  const int per_socket = std::min(gpus, 4);
  PcieLayout layout;
  layout.gpus_per_socket = per_socket;
  layout.gpus_per_bridge = 1;
  if (word == "pix") {
    layout.gpus_per_switch = layout.gpus_per_bridge = per_socket;
  } else if (word == "pxb") {
    layout.gpus_per_switch = gpus <= 2 ? 1 : 2;
    layout.switches_per_upper = 2;
    layout.gpus_per_bridge = layout.gpus_per_socket = 2 * layout.gpus_per_switch;
  } else if (word == "phb") {
    layout.gpus_per_bridge = per_socket;
  } else if (word == "sys") {
    layout.gpus_per_socket = std::max(1, std::min(4, gpus / 2));
  } else if (word != "node") {
    throw ConfigError(fmt::format("'{}' is not a PCIe layout: there are pix, pxb, phb, node and sys", word));
  }
  return layout;
}

std::optional<NodeSpec> find_box(std::string_view name) {
  const std::string lower = lower_case(name);
  std::string_view rest = lower;
  const auto count = take_gpus(rest);
  if (!count) return std::nullopt;
  NodeSpec node;
  node.name = std::string(name);
  node.gpus = *count;
  std::string_view before = rest;
  if (const std::string_view word = take_last_word(before); is_layout(word)) {
    node.pcie = layout_of(word, node.gpus);
    rest = before;
  }
  node.intra = take_intra(rest);
  before = rest;
  const auto link = find_box_link(take_last_word(before));
  // "2x-h100-pcie" is two H100 PCIe cards, not two H100 without NVLink.
  const bool whole = node.intra || is_gpu(rest);
  if (!whole && !link) return std::nullopt;
  const Gpu gpu = find_gpu(whole ? rest : before);
  node.gpu = gpu.id;
  if (!node.intra && link && (!whole || *link == BoxLink::pcie)) node.intra = intra_of(*link, gpu);
  if (node.intra && *node.intra != Intra::pcie && gpu.nvlink_links == 0)
    throw ConfigError(fmt::format("{} has no NVLink: write {}x-{}-pcie", gpu.id, *count, gpu.id));
  return node;
}

}  // namespace gradwire
