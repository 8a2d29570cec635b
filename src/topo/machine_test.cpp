#include "topo/machine.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "support/error_of.h"
#include "topo/rates.h"

namespace gradwire {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;

Path path(const Machine& machine, std::size_t from, std::size_t to) {
  return find_path(machine, machine.gpus[from], machine.gpus[to]);
}

std::string build_error(const NodeSpec& node, int nodes = 1) {
  return error_of([&] { build_machine(node, nodes); });
}

NodeSpec box(const std::string& gpu, int gpus) {
  NodeSpec node;
  node.name = "box";
  node.gpu = gpu;
  node.gpus = gpus;
  return node;
}

TEST(Machine, nvlink_makes_a_pair_of_3090_four_times_as_fast_as_the_slots_of_a_desktop) {
  const Machine with = find_machine("2x-rtx3090-nvlink"), without = find_machine("2x-rtx3090-pcie");
  EXPECT_DOUBLE_EQ(path(with, 0, 1).bytes_per_s, 48e9);  // 4 links x 12 GB/s
  EXPECT_FALSE(path(with, 0, 1).through_host);
  EXPECT_DOUBLE_EQ(path(without, 0, 1).bytes_per_s, 12.5e9);  // PCIe 4 x8, up and down
  EXPECT_TRUE(path(without, 0, 1).through_host);
}

TEST(Machine, host_staging_goes_up_into_memory_next_to_the_receiver_and_down) {
  const Machine machine = find_machine("2x-rtx4090-pcie-sys");
  std::vector<std::string> stops;
  for (const LinkId id : path(machine, 0, 1).links)
    stops.push_back(machine.topology.device(machine.topology.link(id).to).name);
  EXPECT_EQ(stops, (std::vector<std::string>{"PCI0", "CPU0", "CPU1", "MEM1", "CPU1", "PCI1", "GPU1"}));
}

TEST(Machine, gpus_under_one_switch_share_its_uplink_when_they_stage_through_the_host) {
  const Machine machine = find_machine("2x-rtx4090-pcie-pix");
  const auto there = path(machine, 0, 1).links, back = path(machine, 1, 0).links;
  int shared = 0;
  for (const LinkId id : there) shared += static_cast<int>(std::count(back.begin(), back.end(), id));
  EXPECT_GE(shared, 2);  // the uplink, each way, carries both
  const Machine apart = find_machine("2x-rtx4090-pcie-sys");
  const auto one = path(apart, 0, 1).links, other = path(apart, 1, 0).links;
  for (const LinkId id : one) EXPECT_EQ(std::count(other.begin(), other.end(), id), 0);
}

TEST(Machine, a_socket_of_128_lanes_holds_up_to_seven_gpus_where_no_tree_is_stated) {
  const auto far = [](CpuMaker maker, int gpus) {
    NodeSpec node = box("rtx4090", gpus);
    node.cpu = maker, node.p2p = true;
    return path(build_machine(node), 0, static_cast<std::size_t>(gpus - 1)).path_class;
  };
  EXPECT_LT(far(CpuMaker::amd, 7), PathClass::sys);
  EXPECT_EQ(far(CpuMaker::amd, 8), PathClass::sys);
  EXPECT_EQ(far(CpuMaker::intel, 6), PathClass::sys);
}

TEST(Machine, narrow_slots_are_narrow) {
  NodeSpec node = box("rtx4090", 2);
  node.intra = Intra::pcie;
  node.pcie = PcieLayout{};
  node.pcie->slot_widths = {16, 4};
  EXPECT_DOUBLE_EQ(path(build_machine(node), 0, 1).bytes_per_s, 25e9 / 4);
  node.pcie.reset();
  node.pcie_width = 1;
  EXPECT_DOUBLE_EQ(path(build_machine(node), 0, 1).bytes_per_s, 25e9 / 16);
}

TEST(Machine, a_mesh_gives_every_pair_its_links) {
  const Machine machine = find_machine("4x-v100-sxm");
  for (std::size_t i = 1; i < 4; ++i)
    EXPECT_EQ(nvlinks_between(machine.topology, machine.gpus[0], machine.gpus[i]), 2);
}

TEST(Machine, eight_v100_without_a_matrix_are_a_hybrid_cube_mesh) {
  const Machine machine = build_machine(box("v100-sxm", 8)), dgx = find_machine("dgx-1");
  for (std::size_t i = 0; i < 8; ++i)
    for (std::size_t j = 0; j < 8; ++j)
      EXPECT_EQ(nvlinks_between(machine.topology, machine.gpus[i], machine.gpus[j]),
                nvlinks_between(dgx.topology, dgx.gpus[i], dgx.gpus[j]));
}

TEST(Machine, what_was_not_stated_is_noted) {
  const Machine machine = build_machine(box("a100-sxm-80", 8));
  EXPECT_EQ(*machine.node.intra, Intra::nvswitch);
  EXPECT_THAT(machine.notes, Contains(HasSubstr("taken as nvswitch")));
  EXPECT_THAT(machine.notes, Contains(HasSubstr("the processor is not stated")));
  EXPECT_TRUE(find_machine("dgx-a100").notes.empty());
}

TEST(Machine, gpu_indices_choose_gpus_and_their_order) {
  NodeSpec node = box("v100-sxm", 2);
  node.gpu_indices = {3, 0};
  node.intra = Intra::nvlink_mesh;
  node.nvlinks = {{0, 3, 2}, {0, 1, 1}};
  const Machine machine = build_machine(node);
  ASSERT_EQ(machine.gpus.size(), 2U);
  EXPECT_EQ(machine.topology.device(machine.gpus[0]).name, "GPU3");
  EXPECT_EQ(nvlinks_between(machine.topology, machine.gpus[0], machine.gpus[1]), 2);
  node.gpu_indices = {3, 3};
  EXPECT_THAT(build_error(node), HasSubstr("different GPUs"));
}

TEST(Machine, with_gpus_takes_the_first_ones) {
  const Machine machine = find_machine("2*dgx-a100@hdr");
  EXPECT_EQ(with_gpus(machine, 2).gpus.size(), 2U);
  EXPECT_EQ(with_gpus(machine, 2).gpus_per_node(), 2);
  EXPECT_EQ(with_gpus(machine, 16).nodes, 2);
  EXPECT_THROW(with_gpus(machine, 12), ConfigError);
  EXPECT_THROW(with_gpus(machine, 17), ConfigError);
  EXPECT_THROW(with_gpus(machine, 0), ConfigError);
}

TEST(Machine, without_gpudirect_data_passes_through_the_memory_of_both_nodes) {
  const Machine machine = find_machine("2*2x-rtx3090-nvlink@10gbe");
  const Path across = path(machine, 0, 2);
  EXPECT_TRUE(across.through_host);
  int memories = 0;
  for (const LinkId id : across.links)
    memories += machine.topology.device(machine.topology.link(id).to).kind == DeviceKind::memory;
  EXPECT_EQ(memories, 2);
  EXPECT_DOUBLE_EQ(across.bytes_per_s, 9.4e9 / 8);
}

TEST(Machine, of_nodes_over_omni_path_has_no_gpudirect_unless_it_is_stated) {
  EXPECT_FALSE(*find_machine("2*4x-v100-sxm").network->gpudirect);
  EXPECT_TRUE(*find_machine("2*4x-v100-sxm@edr").network->gpudirect);
}

// NCCL lets a card read GPU memory up to PXB. Who states where cards are gets that; who says that they read it, or nothing, does not.
TEST(Machine, cards_that_meet_gpus_at_a_processor_do_not_read_their_memory) {
  NodeSpec node = box("a100-sxm-40", 2);
  node.pcie.emplace();
  node.pcie->gpus_per_bridge = 1, node.pcie->gpus_per_socket = 2, node.pcie->nics_at_switch = false;
  const auto across = [&](std::optional<bool> gpudirect) {
    NetworkSpec network = find_network("1x-hdr");
    network.gpudirect = gpudirect;
    return build_machine(node, 2, network);
  };
  EXPECT_TRUE(across({}).network->cards_far);
  EXPECT_TRUE(path(across({}), 0, 2).through_host);
  EXPECT_THAT(across({}).notes, Contains(HasSubstr("NCCL_NET_GDR_LEVEL=SYS")));
  EXPECT_FALSE(path(across(true), 0, 2).through_host);
  node.pcie->gpus_per_switch = 1, node.pcie->nics_at_switch = true;
  EXPECT_FALSE(path(across({}), 0, 2).through_host) << "under a switch with a GPU";
  node.pcie.reset();
  EXPECT_FALSE(path(across({}), 0, 2).through_host) << "nobody said where";
}

TEST(Machine, cards_are_as_far_as_a_matrix_shows_them) {
  const auto with_card = [](const std::string& first, const std::string& second) {
    NodeSpec node = box("a100-sxm-40", 2);
    node.matrix = parse_matrix("\tGPU0\tGPU1\tmlx5_0\nGPU0\tX\tNV4\t" + first + "\nGPU1\tNV4\tX\t" + second +
                                   "\nmlx5_0\t" + first + "\t" + second + "\tX\n",
                               "test");
    return build_machine(node, 2, find_network("1x-hdr")).network->cards_far;
  };
  EXPECT_TRUE(with_card("NODE", "NODE"));
  EXPECT_TRUE(with_card("PHB", "PHB"));
  EXPECT_FALSE(with_card("PIX", "NODE")) << "the first GPU sends for both";
}

TEST(Machine, plain_ethernet_is_one_card_but_rdma_takes_the_cards_a_node_has) {
  EXPECT_EQ(find_machine("2*dgx-h100@10gbe").network->nics_per_node, 1);
  EXPECT_EQ(find_machine("2*dgx-h100@ndr").network->nics_per_node, 8);
  EXPECT_EQ(find_machine("2*dgx-h100@4x-ndr").network->nics_per_node, 4);
  EXPECT_EQ(find_machine("2*p5.48xlarge").network->nics_per_node, 32);
}

// Families as /proc/cpuinfo counts them, and as NCCL's files write them.
TEST(Processors, of_two_generations_of_epyc_have_links_of_their_own_between_sockets) {
  for (const int zen5 : {0x1a, 0xbf}) EXPECT_EQ(processor_of("AuthenticAMD", zen5, 2).id, "epyc-turin");
  EXPECT_EQ(processor_of("AuthenticAMD", 0x19, 0x11).id, "epyc-genoa");
  EXPECT_GT(find_processor("epyc-turin").socket.bytes_per_s, find_processor("epyc-genoa").socket.bytes_per_s);
}

TEST(Machine, what_cannot_be_built_is_refused_with_a_reason) {
  EXPECT_THAT(build_error(box("rtx4090", 0)), HasSubstr("1 to 1024 GPUs, not 0"));
  EXPECT_THAT(build_error(box("rtx4090", 2), 2), HasSubstr("need a network"));
  EXPECT_THAT(build_error(box("rtx4091", 2)), HasSubstr("did you mean rtx4090"));
  NodeSpec node = box("rtx4090", 2);
  node.intra = Intra::nvlink_pairs;
  EXPECT_THAT(build_error(node), HasSubstr("rtx4090 has no NVLink"));
  node.intra = Intra::pcie;
  node.pcie_gen = 9;
  EXPECT_THAT(build_error(node), HasSubstr("no PCIe generation 9"));
  node.pcie_gen = 4;
  node.pcie = PcieLayout{};
  node.pcie->gpus_per_switch = 2;
  node.pcie->gpus_per_bridge = 3;
  EXPECT_THAT(build_error(node), HasSubstr("does not nest"));
}

}  // namespace
}  // namespace gradwire
