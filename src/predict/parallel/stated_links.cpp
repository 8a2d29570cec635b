#include "predict/parallel/stated_links.h"

namespace gradwire {
namespace {

// Null means not stated, which contradicts nothing.
template <typename Value>
bool apart(const std::optional<Value>& a, const std::optional<Value>& b) {
  return a && b && !(*a == *b);
}

bool differ_between_nodes(const StatedLinks& a, const StatedLinks& b) {
  if (a.domain != b.domain) return true;
  const auto &x = a.node.network, &y = b.node.network;
  if (!x || !y) return false;
  return apart(x->kind, y->kind) || apart(x->gbit_per_nic, y->gbit_per_nic) ||
         apart(x->nics_per_node, y->nics_per_node) || apart(x->gpudirect, y->gpudirect);
}

// Which GPUs of a box and which of its slots: of other numbers of GPUs these differ by themselves.
bool differ_in_place(const NodeSpec& a, const NodeSpec& b) {
  if (a.gpus != b.gpus) return false;
  const bool others = !a.gpu_indices.empty() && !b.gpu_indices.empty() && a.gpu_indices != b.gpu_indices;
  return others || apart(a.pcie, b.pcie);
}

bool differ_inside(const NodeSpec& a, const NodeSpec& b) {
  return apart(a.intra, b.intra) || apart(a.nvlink_gen, b.nvlink_gen) ||
         apart(a.nvlink_links_per_gpu, b.nvlink_links_per_gpu) ||
         apart(a.nvlink_links_per_pair, b.nvlink_links_per_pair) || apart(a.p2p, b.p2p) ||
         apart(a.pcie_gen, b.pcie_gen) || apart(a.pcie_width, b.pcie_width) || apart(a.matrix, b.matrix) ||
         differ_in_place(a, b);
}

}  // namespace

StatedLinks stated_links(const Record& record) {
  const auto& parallel = *record.parallel;
  return {parallel.link, node_with_links(record, parallel.gpus_per_node, parallel.link), parallel.nodes,
          parallel.nvlink_domain.value_or(0)};
}

bool links_differ(const StatedLinks& a, const StatedLinks& b) {
  if (a.setting != b.setting) return true;
  if (a.nodes > 1 && b.nodes > 1 && differ_between_nodes(a, b)) return true;
  return a.node.gpus > 1 && b.node.gpus > 1 && differ_inside(a.node, b.node);
}

}  // namespace gradwire
