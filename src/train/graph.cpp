#include "train/graph.h"

#include <unordered_set>

namespace gradwire {
namespace {

using torch::autograd::Node;

std::unordered_set<Node*> reachable_from(const std::vector<torch::Tensor>& outputs) {
  std::unordered_set<Node*> seen;
  std::vector<Node*> open;
  const auto visit = [&](Node* node) {
    if (node != nullptr && seen.insert(node).second) open.push_back(node);
  };
  for (const auto& output : outputs)
    if (output.requires_grad()) visit(torch::autograd::impl::gradient_edge(output).function.get());
  while (!open.empty()) {
    Node* const node = open.back();
    open.pop_back();
    for (const auto& edge : node->next_edges()) visit(edge.function.get());
  }
  return seen;
}

}  // namespace

std::vector<int> find_unused(const std::vector<torch::Tensor>& outputs, const GradientNodes& nodes) {
  const auto used = reachable_from(outputs);
  std::vector<int> unused;
  for (std::size_t index = 0; index < nodes.size(); ++index)
    if (!used.contains(nodes[index].get())) unused.push_back(static_cast<int>(index));
  return unused;
}

}  // namespace gradwire
