#include "predict/nccl/all_reduce.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr Bytes kLarge = 256 << 20;

AllReduceEstimate on(const std::string& machine, Bytes bytes = kLarge, const NcclSettings& settings = {}) {
  return NcclModel(find_machine(machine), default_calibration(), settings).all_reduce(bytes);
}

TEST(NcclModel, same_switch_4090s_without_peer_access_are_slower_than_cards_with_uplinks_of_their_own) {
  const auto neighbours = on("2x-rtx4090-pcie-pix"), apart = on("2x-rtx4090-pcie-phb");
  EXPECT_EQ(path_name(neighbours.way), "host memory");
  EXPECT_GT(neighbours.time, 1.05 * apart.time);
  EXPECT_EQ(neighbours.narrowest.resource.kind, ResourceKind::uplink);
  EXPECT_EQ(neighbours.narrowest.crossed, 4);
}

TEST(NcclModel, a_bridged_pair_is_fast_and_a_third_gpu_makes_the_ring_as_slow_as_its_slowest_hop) {
  const auto pair = on("2x-a40-nvlink"), three = on("3x-a40-nvlink");
  EXPECT_EQ(path_name(pair.way), "NVLink");
  EXPECT_NE(path_name(three.way), "NVLink");
  EXPECT_GT(pair.bus_gbps, 40);
  EXPECT_LT(three.bus_gbps, 0.6 * pair.bus_gbps);
}

TEST(NcclModel, nvswitch_serves_any_number_of_gpus_at_the_full_rate) {
  const auto two = on("2x-a100-sxm-80-nvswitch"), eight = on("8x-a100-sxm-80-nvswitch");
  EXPECT_EQ(path_name(eight.way), "NVLink through NVSwitch");
  EXPECT_NEAR(eight.bus_gbps, two.bus_gbps, 0.25 * eight.bus_gbps);
}

TEST(NcclModel, hopper_nodes_reduce_in_the_switch_from_five_gpus_on) {
  EXPECT_EQ(on("8x-h100-sxm-nvswitch").algorithm, "NVLS");
  EXPECT_EQ(on("4x-h100-sxm-nvswitch").algorithm, "Ring");
  EXPECT_GT(on("8x-h100-sxm-nvswitch").bus_gbps, 400);  // above what a ring could: 371
}

TEST(NcclModel, small_buffers_take_ll) {
  const auto small = on("8x-h100-sxm-nvswitch", 1024);
  EXPECT_EQ(small.protocol, "LL");
  EXPECT_EQ(small.channels, 1);
  EXPECT_LT(small.time, 40e-6);
}

TEST(NcclModel, turning_peer_access_off_sends_everything_through_host_memory_also_between_bridged_cards) {
  const auto without = on("2x-rtx3090-nvlink", kLarge, nccl_settings({{"NCCL_P2P_DISABLE", "1"}}));
  EXPECT_EQ(path_name(without.way), "host memory");
  EXPECT_GT(without.time, 2 * on("2x-rtx3090-nvlink").time);
}

TEST(NcclModel, over_slow_ethernet_the_network_is_the_narrowest_link_whatever_is_inside) {
  const auto nvlink = on("2*2x-rtx3090-nvlink@10gbe"), pcie = on("2*2x-rtx3090-pcie@10gbe");
  EXPECT_EQ(nvlink.narrowest.by, Holdup::cards);
  EXPECT_NEAR(nvlink.time, pcie.time, 0.1 * pcie.time);
  EXPECT_LT(nvlink.bus_gbps, 2.5);  // a tree over two nodes passes 1.25 GB/s twice
}

TEST(NcclModel, a_larger_buffer_never_takes_less) {
  for (const char* machine :
       {"8x-h100-sxm-nvswitch", "2x-rtx4090-pcie-phb", "2*8x-a100-sxm-80-nvswitch@8x-hdr"}) {
    const NcclModel model(find_machine(machine));
    for (Bytes bytes = 8; bytes < (Bytes{1} << 36); bytes *= 2)
      EXPECT_LE(model.all_reduce_time(bytes), model.all_reduce_time(2 * bytes)) << machine << " " << bytes;
  }
}

TEST(NcclModel, one_rank_costs_nothing) {
  const NcclModel model(with_gpus(find_machine("2x-rtx3090-nvlink"), 1));
  EXPECT_EQ(model.all_reduce(kLarge).time, 0);
  EXPECT_EQ(model.all_reduce(kLarge).algorithm, "none");
}

// Loads by hand. A flat ring of four through host memory: every slot carries a byte up and one down, every byte
// is written to a memory and read from it. With pairs on one socket the reversed twin carries half: every slot
// one way or the other at half the rate, and two of four hops leave PCIe.
TEST(NcclModel, bridges_take_traffic_off_slots_and_memory) {
  const auto load = [](const char* name, ResourceClass resource) {
    const NcclModel model(find_machine(name));
    for (const ResourceLoad& one : model.loads())
      if (one.of == resource) return one.load;
    return 0.0;
  };
  EXPECT_EQ(load("4x-rtx3090-pcie", ResourceClass::slot), 2);
  EXPECT_EQ(load("4x-rtx3090-pcie", ResourceClass::memory), 8);
  EXPECT_EQ(load("4x-rtx3090-nvlink", ResourceClass::slot), 1);
  EXPECT_EQ(load("4x-rtx3090-nvlink", ResourceClass::memory), 4);
  EXPECT_GT(on("4x-rtx3090-nvlink").bus_gbps, 1.5 * on("4x-rtx3090-pcie").bus_gbps);
}

TEST(NcclModel, peer_access_ends_where_version_and_variables_say) {
  NcclSettings old, recent;
  old.version = 222, recent.version = 223;
  EXPECT_EQ(path_name(on("4x-a40-pcie", kLarge, old).way), "PCIe peer to peer");
  EXPECT_EQ(path_name(on("4x-a40-pcie", kLarge, recent).way), "host memory");
  EXPECT_EQ(path_name(on("2x-a40-pcie", kLarge, recent).way), "PCIe peer to peer");
  EXPECT_EQ(path_name(on("4x-a40-pcie", kLarge, nccl_settings({{"NCCL_P2P_LEVEL", "PIX"}})).way),
            "host memory");
  recent.p2p_level = PathClass::sys;
  EXPECT_EQ(path_name(on("4x-a40-pcie", kLarge, recent).way), "PCIe peer to peer");
}

TEST(NcclModel, variables_change_times_as_well_as_words) {
  const auto with = [](const char* machine, const char* name, const char* value, Bytes bytes = kLarge) {
    return on(machine, bytes, nccl_settings({{name, value}})).time / on(machine, bytes).time;
  };
  EXPECT_GT(with("dgx-a100", "NCCL_MAX_NCHANNELS", "2"), 2);
  EXPECT_GT(with("dgx-a100", "NCCL_BUFFSIZE", "262144"), 1.02);
  EXPECT_GT(with("dgx-a100", "NCCL_PROTO", "LL"), 1.3);
  EXPECT_GT(with("dgx-a100", "NCCL_ALGO", "Tree"), 1.05);
  EXPECT_GT(with("2x-rtx3090-pcie", "NCCL_SHM_DISABLE", "1"), 2);
  EXPECT_GT(with("dgx-a100", "NCCL_PROTO", "Simple", 1024), 1.2);
}

TEST(NcclModel, every_estimate_has_an_error_bar) {
  const NcclModel model(find_machine("8x-a100-sxm-80-nvswitch"));
  EXPECT_GT(model.all_reduce(kLarge).relative_error, 0.01);
  EXPECT_LT(model.all_reduce(kLarge).relative_error, 0.5);
  EXPECT_LT(model.all_reduce(kLarge).low, model.all_reduce(kLarge).time);
  EXPECT_GT(model.all_reduce(kLarge).high, model.all_reduce(kLarge).time);
}

TEST(NcclSettings, read_the_variables_that_change_times) {
  const auto settings = nccl_settings({{"NCCL_ALGO", "RING"}, {"NCCL_PROTO", "^LL"}, {"NCCL_DEBUG", "INFO"}});
  EXPECT_TRUE(settings.algorithms.has(Collective::all_reduce, NcclAlgorithm::ring));
  EXPECT_FALSE(settings.algorithms.has(Collective::all_reduce, NcclAlgorithm::tree));
  EXPECT_TRUE(settings.protocols.has(Collective::all_gather, NcclProtocol::ll128));
  EXPECT_FALSE(settings.protocols.has(Collective::all_gather, NcclProtocol::ll));
  EXPECT_THROW(nccl_settings({{"NCCL_P2P_DISABLE", "yes"}}), ConfigError);
  EXPECT_THROW(nccl_settings({{"NCCL_P2P_LEVEL", "near"}}), ConfigError);
  EXPECT_THROW(nccl_settings({{"NCCL_MAX_NCHANNELS", "0"}}), ConfigError);
  EXPECT_THROW(nccl_settings({{"NCCL_ALGO", "foo"}}), ConfigError);
  EXPECT_THROW(nccl_settings({{"NCCL_ALGO", "ring,foo"}}), ConfigError);
  EXPECT_THROW(nccl_settings({{"NCCL_PROTO", "LL256"}}), ConfigError);
  for (const char* list : {"ring,tree", "^NVLS", "CollnetChain", "allreduce:tree;broadcast:ring", "PAT"})
    EXPECT_NO_THROW(nccl_settings({{"NCCL_ALGO", list}})) << list;
  EXPECT_EQ(find_nccl_version("2.23.4"), 223);
  EXPECT_EQ(find_nccl_version("new"), std::nullopt);
  EXPECT_EQ(find_nccl_version("2.1x"), std::nullopt);
}

TEST(NcclSettings, remember_the_variables_that_change_something) {
  const auto settings = nccl_settings(
      {{"NCCL_P2P_DISABLE", "0"}, {"NCCL_ALGO", "Tree"}, {"NCCL_DEBUG", "INFO"}, {"NCCL_SHM_DISABLE", "1"}});
  EXPECT_EQ(settings.stated, (std::vector<std::string>{"NCCL_ALGO=Tree", "NCCL_SHM_DISABLE=1"}));
  EXPECT_TRUE(nccl_settings({{"NCCL_P2P_DISABLE", "0"}}).stated.empty());
}

// A slot of 15.75 GB/s (PCIe 4 x8) gives host memory 0.851 of that, both ways together: 6.7 each. A byte waits for that and
// for reads of 37 GB/s: 5.7. 100 Gbit/s and more are faster.
TEST(NcclModel, copies_through_host_memory_are_named_where_they_hold_up_the_network) {
  EXPECT_EQ(on("2*2x-rtx3090-nvlink@100gbe").time, on("2*2x-rtx3090-nvlink@400gbe").time);
  const Narrowest fast = on("2*2x-rtx3090-nvlink@400gbe").narrowest,
                  slow = on("2*2x-rtx3090-nvlink@10gbe").narrowest;
  EXPECT_EQ(fast.by, Holdup::copies);
  EXPECT_NEAR(fast.gbps, 5.62, 0.01);
  EXPECT_EQ(slow.by, Holdup::cards);
  EXPECT_NEAR(slow.gbps, 1.18, 0.01);
  EXPECT_EQ(slow.cards, (NodeCards{1, 10, NetworkKind::ethernet}));
}

// By hand, with PCIe 4 x16: 31.5 x 0.841 / 2 = 13.2, with reads 1 / (1/13.2 + 1/37) = 9.7; between sockets 0.366 / 2 x 31.5.
TEST(NcclPrice, a_card_gets_what_the_way_from_the_gpu_gives) {
  NcclFabric fabric;
  fabric.ranks = fabric.nodes = 2, fabric.sm = 80;
  fabric.network = NetworkKind::infiniband;
  fabric.cards = 1, fabric.card_gbps = 50, fabric.slot_gbps = 31.5;
  const auto gbps = [&](Detour detour) {
    fabric.detour = detour;
    return NcclPrice(fabric, default_calibration().values).network_gbps();
  };
  EXPECT_GT(gbps(Detour::none), 25);
  EXPECT_NEAR(gbps(Detour::memory), 9.9, 0.2);
  EXPECT_NEAR(gbps(Detour::sockets), 5.76, 0.01);
  EXPECT_NEAR(gbps(Detour::processor), 2.6, 0.2) << "fitted";
  fabric.slot_gbps = 63;
  EXPECT_NEAR(gbps(Detour::processor), 2.6, 0.2) << "a thread copies no faster over a faster slot";
}

// An all-reduce of 1.4 GB between two nodes of one A100 each took 122 ms where their cards hang on the processor: 11 GB/s of the 23
// that HDR carries ("The Impact of GPU Networking (Part 1)", 2025-03-14: two nodes of Baskerville, PyTorch with NCCL).
TEST(NcclModel, cards_at_the_processor_give_half_of_what_they_could_unless_nccl_is_told) {
  NodeSpec node;
  node.name = "tray", node.gpu = "a100-sxm-40";
  node.pcie.emplace().nics_at_switch = false;
  const Machine machine = build_machine(node, 2, find_network("1x-hdr"));
  const auto gbps = [&](const NcclSettings& settings) {
    return NcclModel(machine, default_calibration(), settings).all_reduce(1'400'000'000).bus_gbps;
  };
  EXPECT_NEAR(gbps({}), 10, 1.5);
  EXPECT_GT(gbps(nccl_settings({{"NCCL_NET_GDR_LEVEL", "SYS"}})), 20);
  EXPECT_NEAR(gbps(nccl_settings({{"NCCL_NET_GDR_LEVEL", "PXB"}})), gbps({}), 1e-9);
}

TEST(NcclModel, a_time_that_is_a_smaller_buffers_says_so) {
  const NcclModel model(find_machine("2*2x-rtx3090-nvlink@10gbe"));
  EXPECT_FALSE(model.all_reduce(60 << 20).as_smaller);
  EXPECT_TRUE(model.all_reduce(72 << 20).as_smaller);
  EXPECT_EQ(model.all_reduce(72 << 20).time, model.all_reduce(80 << 20).time);
  EXPECT_FALSE(model.all_reduce(128 << 20).as_smaller);
}

TEST(NcclModel, takes_simple_early_where_the_search_finds_no_ring) {
  NodeSpec node;
  node.gpu = "rtx5090", node.gpus = 8, node.cpu = CpuMaker::amd, node.p2p = true;
  NcclSettings settings;
  settings.p2p_level = PathClass::sys;
  const NcclModel blackwell(build_machine(node), default_calibration(), settings);
  EXPECT_EQ(blackwell.all_reduce(2048).protocol, "LL");
  EXPECT_EQ(blackwell.all_reduce(8192).protocol, "Simple");
  node.gpu = "rtx4090";
  EXPECT_EQ(NcclModel(build_machine(node), default_calibration(), settings).all_reduce(8192).protocol, "LL");
}

TEST(NcclModel, hides_latency_over_pcie_and_around_rings_of_nodes_once_slices_are_long) {
  const NcclSettings rings = nccl_settings({{"NCCL_ALGO", "Ring"}});
  for (const char* machine : {"8x-rtx4090-pcie", "4*2x-rtx3090-nvlink@roce-25"}) {
    const auto time = [&](double bytes) { return on(machine, Bytes(bytes), rings).time; };
    const auto beyond = [&](double bytes) { return time(bytes) - bytes * (time(8e9) - time(4e9)) / 4e9; };
    EXPECT_LT(beyond(256e6), beyond(4e6) / 4) << machine;  // what a larger buffer's rate does not explain
  }
}

// Boxes nobody measured: odd numbers of GPUs, switches, sockets, either maker, with and without peer access.
std::vector<NodeSpec> odd_boxes() {
  std::vector<NodeSpec> boxes;
  for (const char* gpu : {"rtx2080ti", "rtx3090", "rtx4090", "a40", "a100-pcie-80", "h100-pcie"})
    for (const int gpus : {2, 3, 5, 6, 7, 8, 16})
      for (const CpuMaker maker : {CpuMaker::amd, CpuMaker::intel})
        for (const auto& [a_switch, a_socket] : {std::pair(0, 0), {0, 4}, {2, 4}, {4, 8}})
          for (const bool peers : {false, true}) {
            NodeSpec node;
            node.gpu = gpu, node.gpus = gpus, node.cpu = maker, node.intra = Intra::pcie, node.p2p = peers;
            node.pcie.emplace();
            node.pcie->gpus_per_switch = a_switch, node.pcie->gpus_per_socket = a_socket;
            boxes.push_back(std::move(node));
          }
  return boxes;
}

Seconds time_on(const NodeSpec& node, int version, Bytes bytes = kLarge) {
  NcclSettings settings;
  settings.version = version;
  return NcclModel(build_machine(node), default_calibration(), settings).all_reduce_time(bytes);
}

TEST(NcclModel, narrower_links_never_pay_and_bridges_never_cost) {
  for (const NodeSpec& box : odd_boxes())
    for (const int version : {208, 218, 226}) {
      const Seconds time = time_on(box, version);
      const auto what = fmt::format("{} {} {} {}", box.gpus, box.gpu, box.pcie->gpus_per_switch, version);
      NodeSpec narrow = box, old = box, one_slow = box, bridged = box, without = box;
      narrow.pcie_width = 8, old.pcie_gen = 3, bridged.intra = Intra::nvlink_pairs, without.p2p = false;
      one_slow.pcie->slot_widths.assign(static_cast<std::size_t>(box.gpus), 16);
      one_slow.pcie->slot_widths.back() = 4;
      for (const NodeSpec* worse : {&narrow, &old, &one_slow, &without})
        EXPECT_LE(time, 1.001 * time_on(*worse, version)) << what;
      if (box.gpu == "rtx4090") continue;  // has no bridge
      EXPECT_LE(time_on(bridged, version), 1.001 * time) << what;
    }
}

TEST(NcclModel, the_copy_engine_through_host_memory_starts_later_until_it_was_removed) {
  const Machine machine = find_machine("2x-rtx3090-pcie");
  NcclSettings settings = nccl_settings({{"NCCL_SHM_USE_CUDA_MEMCPY", "1"}});
  const auto with = [&](Bytes bytes) {
    return NcclModel(machine, default_calibration(), settings).all_reduce_time(bytes) /
           NcclModel(machine).all_reduce_time(bytes);
  };
  EXPECT_GT(with(1 << 10), 1.2);
  EXPECT_NEAR(with(1 << 30), 1, 0.01);
  settings.version = 230;
  EXPECT_NEAR(with(1 << 10), 1, 0.01);
}

}  // namespace
}  // namespace gradwire
