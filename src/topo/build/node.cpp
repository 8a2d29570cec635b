#include "topo/build/node.h"

#include <algorithm>

#include "base/error.h"
#include "topo/placement.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

class NodeBuilder {
 public:
  explicit NodeBuilder(const ResolvedNode& node) : node_(node), placement_(place(node)) {}

  Topology build() {
    add_processors();
    add_bridges();
    add_switches();
    for (std::size_t i = 0; i < placement_.gpus.size(); ++i) add_gpu(i);
    for (std::size_t i = 0; i < placement_.nics.size(); ++i) add_nic(i);
    add_nvlinks(node_, topology_);
    return std::move(topology_);
  }

 private:
  DeviceId add(DeviceKind kind, std::string name, std::string model = {}) {
    return topology_.add_device(
        {.name = std::move(name), .kind = kind, .node = 0, .model = std::move(model)});
  }

  void join(LinkKind kind, DeviceId from, DeviceId to, const Rate& rate) {
    topology_.add_cable({.kind = kind, .from = from, .to = to, .rate = rate});
  }

  void join_pcie(DeviceId from, DeviceId to, int generation, int width) {
    topology_.add_cable({.kind = LinkKind::pcie,
                         .from = from,
                         .to = to,
                         .generation = generation,
                         .width = width,
                         .rate = pcie_rate(generation, width)});
  }

  void add_processors() {
    for (int i = 0; i < placement_.cpus; ++i) {
      cpus_.push_back(add(DeviceKind::cpu, fmt::format("CPU{}", i), node_.cpu.id));
      const DeviceId memory = add(DeviceKind::memory, fmt::format("MEM{}", i));
      join(LinkKind::memory, cpus_.back(), memory, node_.cpu.memory);
    }
    const bool linked = node_.cpu.socket.bytes_per_s > 0;
    const Rate rate = linked ? node_.cpu.socket : internal_rate();  // NUMA nodes within one socket
    const int board = node_.spec.pcie && node_.spec.pcie->sockets_per_board > 0
                          ? node_.spec.pcie->sockets_per_board
                          : placement_.cpus;
    for (int i = 0; i < placement_.cpus; ++i)
      for (int j = 0; j < i; ++j)
        if (i / board == j / board)
          join(LinkKind::socket, cpus_[static_cast<std::size_t>(j)], cpus_[static_cast<std::size_t>(i)],
               rate);
  }

  // The first seat that names a group says what the group hangs on.
  template <typename Visit>
  void for_each_new(int Seat::*group, std::vector<DeviceId>& devices, Visit visit) {
    devices.assign(static_cast<std::size_t>(placement_.count(group)), kNoDevice);
    for (const auto* seats : {&placement_.gpus, &placement_.nics})
      for (const Seat& seat : *seats) {
        if (seat.*group < 0) continue;
        DeviceId& device = devices[static_cast<std::size_t>(seat.*group)];
        if (device == kNoDevice) device = visit(seat);
      }
  }

  void add_bridges() {
    for_each_new(&Seat::bridge, bridges_, [&](const Seat& seat) {
      const DeviceId bridge = add(DeviceKind::host_bridge, fmt::format("PCI{}", seat.bridge));
      join(LinkKind::internal, bridge, cpus_.at(static_cast<std::size_t>(seat.cpu)), internal_rate());
      return bridge;
    });
  }

  void add_switches() {
    const PcieLayout layout = node_.spec.pcie.value_or(PcieLayout{});
    const int generation = layout.uplink_gen > 0 ? layout.uplink_gen : *node_.spec.pcie_gen;
    const int width = layout.uplink_width > 0 ? layout.uplink_width : 16;
    int switches = 0;
    for_each_new(&Seat::upper, uppers_, [&](const Seat& seat) {
      const DeviceId upper = add(DeviceKind::pcie_switch, fmt::format("SW{}", switches++));
      join_pcie(upper, bridges_[static_cast<std::size_t>(seat.bridge)], generation, width);
      return upper;
    });
    for_each_new(&Seat::leaf, leaves_, [&](const Seat& seat) {
      const DeviceId leaf = add(DeviceKind::pcie_switch, fmt::format("SW{}", switches++));
      join_pcie(leaf, above_leaf(seat), generation, width);
      return leaf;
    });
  }

  DeviceId above_leaf(const Seat& seat) const {
    return seat.upper >= 0 ? uppers_[static_cast<std::size_t>(seat.upper)]
                           : bridges_[static_cast<std::size_t>(seat.bridge)];
  }

  DeviceId slot(const Seat& seat) const {
    return seat.leaf >= 0 ? leaves_[static_cast<std::size_t>(seat.leaf)] : above_leaf(seat);
  }

  int generation(const Seat& seat) const { return seat.gen > 0 ? seat.gen : *node_.spec.pcie_gen; }

  void add_gpu(std::size_t index) {
    const Seat& seat = placement_.gpus[index];
    const auto& matrix = node_.spec.matrix;
    const DeviceId gpu =
        add(DeviceKind::gpu, matrix ? matrix->names[index] : fmt::format("GPU{}", index), node_.gpu.id);
    if (joined_by_c2c(node_))
      join(LinkKind::c2c, gpu, cpus_[static_cast<std::size_t>(seat.cpu)], c2c_rate(node_.gpu));
    else
      join_pcie(gpu, slot(seat), generation(seat), seat.width);
  }

  void add_nic(std::size_t index) {
    const Seat& seat = placement_.nics[index];
    const auto& matrix = node_.spec.matrix;
    const bool named = matrix && index < matrix->nic_models.size();
    const DeviceId nic =
        add(DeviceKind::nic, fmt::format("NIC{}", index), named ? matrix->nic_models[index] : "");
    join_pcie(nic, slot(seat), generation(seat), seat.width);
  }

  const ResolvedNode& node_;
  const SeatPlan placement_;
  Topology topology_;
  std::vector<DeviceId> cpus_, bridges_, uppers_, leaves_;
};

}  // namespace

Topology build_node(const ResolvedNode& node) { return NodeBuilder(node).build(); }

}  // namespace gradwire
