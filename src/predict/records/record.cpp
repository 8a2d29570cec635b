#include "predict/records/record.h"

#include <utility>

#include "base/error.h"

namespace gradwire {
namespace {

// Grace-Blackwell trays are one NVLink domain unless a network is stated.
bool one_nvlink_domain(const Record& record) {
  return !record.node.network && record.node.intra == Intra::nvswitch && !record.gpu.empty() &&
         find_gpu(record.gpu).c2c_bytes_per_s > 0;
}

}  // namespace

Machine machine_of(const Record& record) {
  check(record.collective.has_value(), "only a collective record has one machine");
  NodeSpec node = record.node;
  int nodes = record.collective->nodes;
  if (nodes > 1 && one_nvlink_domain(record)) node.gpus *= std::exchange(nodes, 1);
  if (nodes == 1)
    node.network.reset();
  else if (!node.network)
    node.network.emplace();  // nothing stated: what is usual for the GPU
  return build_machine(node, nodes);
}

NodeSpec node_with_links(const Record& record, int gpus, LinkSetting link,
                         const std::optional<std::vector<int>>& gpu_indices) {
  auto node = record.node;
  node.gpu = record.gpu;
  node.gpus = gpus;
  if (gpu_indices) node.gpu_indices = *gpu_indices;
  if (node.gpu_indices.size() > static_cast<std::size_t>(gpus))
    node.gpu_indices.resize(static_cast<std::size_t>(gpus));
  const bool without_nvlink = link == LinkSetting::pcie || link == LinkSetting::no_p2p;
  if (without_nvlink && !node.matrix) {
    node.intra = Intra::pcie;
    node.nvlink_gen = node.nvlink_links_per_gpu = node.nvlink_links_per_pair = std::nullopt;
  }
  if (without_nvlink) node.p2p = link == LinkSetting::pcie;
  return node;
}

}  // namespace gradwire
