#include "predict/step/other_slots.h"

namespace gradwire {

std::optional<Machine> in_other_slots(const Machine& machine) {
  NodeSpec node = machine.node;
  if (machine.nodes > 1 || !node.own.values.empty()) return std::nullopt;  // measured: as they are
  if (node.lanes_assumed) {
    node.pcie_width = machine.gpu.pcie_width;
    node.lanes_assumed = false;
    return build_machine(node);
  }
  if (!node.pcie_assumed || node.pcie->gpus_per_switch > 0 || machine.gpus.size() <= 2) return std::nullopt;
  node.pcie->gpus_per_switch = node.pcie->gpus_per_bridge = 2;
  return build_machine(node);
}

OtherSlots other_slots_of(const Machine& machine) {
  if (!machine.node.lanes_assumed) return {};
  const int all = machine.gpu.pcie_width;
  return {machine.node.pcie_width.value_or(all), all};
}

}  // namespace gradwire
