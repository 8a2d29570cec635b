#include "topo/topology.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "topo/machine.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;

// Two GPUs under one switch, one at its own root port; a bridge between the last two.
struct Small {
  Topology topology;
  DeviceId cpu, bridge, pcie_switch, gpus[3];

  Small() {
    cpu = add("CPU0", DeviceKind::cpu);
    bridge = add("PCI0", DeviceKind::host_bridge);
    pcie_switch = add("SW0", DeviceKind::pcie_switch);
    for (int i = 0; i < 3; ++i) gpus[i] = add("GPU" + std::to_string(i), DeviceKind::gpu);
    join(LinkKind::internal, bridge, cpu, 5000e9);
    join(LinkKind::pcie, pcie_switch, bridge, 12e9);
    join(LinkKind::pcie, gpus[0], pcie_switch, 12e9);
    join(LinkKind::pcie, gpus[1], pcie_switch, 12e9);
    join(LinkKind::pcie, gpus[2], bridge, 6e9);
    join(LinkKind::nvlink, gpus[1], gpus[2], 48e9);
  }
  DeviceId add(std::string name, DeviceKind kind) {
    return topology.add_device({.name = std::move(name), .kind = kind, .node = 0, .model = {}});
  }
  void join(LinkKind kind, DeviceId a, DeviceId b, double rate) {
    topology.add_cable({.kind = kind, .from = a, .to = b, .rate = {.bytes_per_s = rate, .latency = 1e-6}});
  }
  std::vector<DeviceId> stops(DeviceId from, DeviceId to) const {
    std::vector<DeviceId> passed;
    for (const LinkId id : topology.route(from, to)) passed.push_back(topology.link(id).to);
    return passed;
  }
};

TEST(Topology, a_route_stays_below_the_switch_that_two_gpus_share) {
  const Small small;
  EXPECT_EQ(small.stops(small.gpus[0], small.gpus[1]),
            (std::vector<DeviceId>{small.pcie_switch, small.gpus[1]}));
}

TEST(Topology, nvlink_is_taken_before_pcie) {
  const Small small;
  EXPECT_EQ(small.stops(small.gpus[1], small.gpus[2]), (std::vector<DeviceId>{small.gpus[2]}));
}

TEST(Topology, data_never_passes_through_a_third_gpu) {
  const Small small;  // GPU0 - GPU1 - GPU2 over NVLink would be shorter
  EXPECT_EQ(small.stops(small.gpus[0], small.gpus[2]),
            (std::vector<DeviceId>{small.pcie_switch, small.bridge, small.gpus[2]}));
}

TEST(Topology, a_route_is_as_fast_as_its_narrowest_link_and_as_slow_as_all_together) {
  const Small small;
  const auto route = small.topology.route(small.gpus[0], small.gpus[2]);
  EXPECT_DOUBLE_EQ(bottleneck(small.topology, route), 6e9);
  EXPECT_DOUBLE_EQ(latency(small.topology, route), 3e-6);
  EXPECT_TRUE(small.topology.route(small.gpus[0], small.gpus[0]).empty());
}

TEST(Topology, the_two_directions_of_a_cable_are_two_links) {
  const Small small;
  const auto there = small.topology.route(small.gpus[0], small.gpus[1]);
  const auto back = small.topology.route(small.gpus[1], small.gpus[0]);
  for (const LinkId id : there) EXPECT_EQ(std::count(back.begin(), back.end(), id), 0);
}

TEST(Topology, no_way_is_an_error_that_names_both_ends) {
  Small small;
  const DeviceId alone = small.add("GPU9", DeviceKind::gpu);
  EXPECT_FALSE(small.topology.reaches(small.gpus[0], alone));
  try {
    small.topology.route(small.gpus[0], alone);
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), HasSubstr("from GPU0 to GPU9"));
  }
}

// Sockets joined in a row, so that data passes through some of them; a GPU at each.
TEST(Topology, a_route_passes_sockets_that_have_no_link_to_each_other) {
  Small small;
  const DeviceId second = small.add("CPU1", DeviceKind::cpu), third = small.add("CPU2", DeviceKind::cpu);
  const DeviceId far = small.add("GPU3", DeviceKind::gpu);
  small.join(LinkKind::socket, small.cpu, second, 20e9);
  small.join(LinkKind::socket, second, third, 20e9);
  small.join(LinkKind::pcie, far, third, 12e9);
  EXPECT_EQ(small.stops(small.gpus[2], far),
            (std::vector<DeviceId>{small.bridge, small.cpu, second, third, far}));
  EXPECT_EQ(small.stops(far, small.gpus[2]),
            (std::vector<DeviceId>{third, second, small.cpu, small.bridge, small.gpus[2]}));
}

TEST(Routes, are_those_that_the_topology_gives_pair_by_pair) {
  for (const char* on : {"dgx-1", "8x-rtx4090-pcie-pxb", "8x-a40-nvlink", "gb200-nvl72", "2*dgx-a100@hdr"}) {
    const Machine machine = find_machine(on);
    Routes routes(machine.topology);
    const auto devices = static_cast<DeviceId>(machine.topology.devices().size());
    for (DeviceId from = 0; from < devices; from += 7) {
      if (machine.topology.device(from).node == kNoNode) continue;
      ASSERT_EQ(routes.nearest(from, DeviceKind::memory), machine.topology.nearest(from, DeviceKind::memory));
      for (DeviceId to = 0; to < devices; to += 5)
        if (machine.topology.device(to).node != kNoNode) {
          ASSERT_EQ(routes.find_route(from, to), machine.topology.find_route(from, to)) << on << from << to;
        }
    }
    for (const DeviceId gpu : machine.gpus) {
      const Path path = find_path(machine, routes, machine.gpus[0], gpu);
      ASSERT_EQ(path.links, find_path(machine, machine.gpus[0], gpu).links) << on;
      ASSERT_EQ(matrix_cell(machine, path), matrix_cell(machine.topology, machine.gpus[0], gpu)) << on;
    }
  }
}

TEST(Topology, links_and_devices_are_named_as_people_say_them) {
  const Machine machine = find_machine("2*2x-rtx3090-nvlink@10gbe");
  const auto route = machine.topology.route(machine.gpus[2], machine.gpus[3]);
  EXPECT_EQ(link_name(machine.topology, route.at(0)), "node 1 GPU0 > node 1 GPU1 (NVLink 3 x4)");
  const Machine one = find_machine("2x-rtx3090-nvlink");
  EXPECT_EQ(link_name(one.topology, one.topology.route(one.gpus[0], one.gpus[1]).at(0)),
            "GPU0 > GPU1 (NVLink 3 x4)");
}

TEST(Topology, between_nodes_a_gpu_leaves_by_its_nearest_card_and_enters_on_the_same_rail) {
  const Machine machine = find_machine("2*dgx-h100@ndr");
  const Topology& topology = machine.topology;
  for (std::size_t from = 0; from < 8; ++from)
    for (std::size_t to = 8; to < 16; ++to) {
      std::vector<DeviceId> cards, switches;
      for (const LinkId id : topology.route(machine.gpus[from], machine.gpus[to])) {
        const DeviceId at = topology.link(id).to;
        if (topology.device(at).kind == DeviceKind::nic) cards.push_back(at);
        if (topology.device(at).kind == DeviceKind::net_switch) switches.push_back(at);
      }
      ASSERT_EQ(cards.size(), 2U);
      EXPECT_EQ(switches.size(), 1U);  // a rail, never the spine
      EXPECT_EQ(topology.device(cards[0]).name, "NIC" + std::to_string(from));
      EXPECT_EQ(topology.device(cards[1]).name, "NIC" + std::to_string(from));
    }
}

TEST(Topology, without_rails_a_gpu_is_reached_by_the_card_nearest_to_it) {
  const Machine machine = find_machine("2*dgx-1@edr");
  NodeSpec node = machine.node;
  node.network->rails = false;
  const Machine flat = build_machine(node, 2);
  const auto route = flat.topology.route(flat.gpus[0], flat.gpus[8 + 7]);
  std::vector<std::string> cards;
  for (const LinkId id : route)
    if (flat.topology.device(flat.topology.link(id).to).kind == DeviceKind::nic)
      cards.push_back(flat.topology.device(flat.topology.link(id).to).name);
  EXPECT_EQ(cards, (std::vector<std::string>{"NIC0", "NIC3"}));
}

TEST(Topology, a_cluster_of_16384_gpus_is_built_and_routed_whole) {
  const Machine machine = find_machine("2048*dgx-h100@ndr");
  ASSERT_EQ(machine.gpus.size(), 16384U);
  for (std::size_t i = 0; i < machine.gpus.size(); ++i) {
    const auto route = machine.topology.route(machine.gpus[i], machine.gpus[(i + 1) % machine.gpus.size()]);
    ASSERT_EQ(machine.topology.link(route.back()).to, machine.gpus[(i + 1) % machine.gpus.size()]);
  }
}

}  // namespace
}  // namespace gradwire
