#include "predict/nccl/collective.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>

#include "base/error.h"
#include "sim/sharing.h"

namespace gradwire {
namespace {

constexpr Bytes kBig = Bytes{1} << 30;  // latency no longer counts

double busbw(const GroupModel& model, Collective kind, Bytes bytes = kBig) {
  return model.estimate(kind, bytes).bus_gbps;
}

TEST(GroupModel, one_group_of_all_ranks_is_the_machines_own_all_reduce) {
  for (const char* name : {"dgx-a100", "8x-h100-sxm-nvswitch", "4x-rtx3090-nvlink", "8x-rtx4090-pcie",
                           "2*8x-a100-sxm-80-nvswitch@8x-hdr", "4*dgx-h100@ndr", "2*2x-rtx3090-pcie@10gbe"}) {
    const Machine machine = find_machine(name);
    const GroupModel all(machine, all_ranks(machine));
    const NcclModel model(machine);
    for (Bytes bytes = 64; bytes <= kBig; bytes *= 8) {
      EXPECT_DOUBLE_EQ(all.time(Collective::all_reduce, bytes), model.all_reduce_time(bytes)) << name;
      EXPECT_EQ(all.estimate(Collective::all_reduce, bytes).narrowest, model.all_reduce(bytes).narrowest);
    }
  }
}

// A ring passes (n-1)/n of the buffer over each hop for a gather, twice that for an all-reduce, all of it for a
// broadcast; bus bandwidth counts what a hop carries, so it is the same for all.
TEST(GroupModel, gathers_and_scatters_move_half_of_what_an_all_reduce_moves) {
  const Machine machine = find_machine("8x-a100-sxm-80-nvswitch");
  const GroupModel model(machine, all_ranks(machine));
  const double ring = busbw(model, Collective::all_reduce);
  EXPECT_NEAR(busbw(model, Collective::all_gather), ring, 0.02 * ring);
  EXPECT_NEAR(busbw(model, Collective::reduce_scatter), ring, 0.02 * ring);
  EXPECT_NEAR(busbw(model, Collective::broadcast), ring, 0.05 * ring);
  const double seconds = model.time(Collective::all_gather, kBig);
  EXPECT_DOUBLE_EQ(busbw(model, Collective::all_gather), static_cast<double>(kBig) / seconds * 7 / 8 / 1e9);
}

TEST(GroupModel, what_the_switch_reduces_it_does_not_gather) {
  const Machine machine = find_machine("8x-h100-sxm-nvswitch");
  const GroupModel model(machine, all_ranks(machine));
  EXPECT_EQ(model.estimate(Collective::all_gather, kBig).algorithm, "Ring");
  EXPECT_LT(busbw(model, Collective::all_gather), 400);
  EXPECT_GT(busbw(model, Collective::all_reduce), 400);
}

// Two GPUs: an all-reduce loads a slot both ways, a broadcast one way.
TEST(GroupModel, a_broadcast_leaves_the_way_back_free) {
  const Machine machine = find_machine("2x-rtx3090-pcie");
  const GroupModel model(machine, all_ranks(machine));
  EXPECT_GT(busbw(model, Collective::broadcast), 1.3 * busbw(model, Collective::all_reduce));
}

TEST(GroupModel, pairs_on_bridges_do_not_share_and_pairs_across_pcie_do) {
  const Machine machine = find_machine("4x-rtx3090-nvlink");
  const GroupModel bridged(machine, strided_groups(4, 2)), across(machine, strided_groups(4, 2, 2));
  const GroupModel alone(machine, {{0, 1}}), lone(machine, {{0, 2}});
  EXPECT_EQ(path_name(bridged.estimate(Collective::all_reduce, kBig).way), "NVLink");
  EXPECT_EQ(path_name(across.estimate(Collective::all_reduce, kBig).way), "host memory");
  EXPECT_GT(busbw(bridged, Collective::all_reduce), 3 * busbw(across, Collective::all_reduce));
  EXPECT_DOUBLE_EQ(busbw(bridged, Collective::all_reduce), busbw(alone, Collective::all_reduce));
  EXPECT_LE(busbw(across, Collective::all_reduce), busbw(lone, Collective::all_reduce));
}

// Two GPUs behind each switch, without peer access: every byte of a pair crosses its uplink up and down. Two pairs
// across the switches put the same load on each uplink twice.
TEST(GroupModel, groups_behind_one_uplink_share_it) {
  const Machine machine = find_machine("4x-rtx4090-pcie-pix");
  const double both = busbw(GroupModel(machine, {{0, 2}, {1, 3}}), Collective::all_reduce);
  const double one = busbw(GroupModel(machine, {{0, 2}}), Collective::all_reduce);
  EXPECT_NEAR(both, one / 2, 0.1 * one);
}

// Two nodes of two GPUs with one card: data-parallel groups across the nodes, one for each GPU of a node, get half each.
TEST(GroupModel, groups_across_nodes_share_the_cards) {
  const Machine one_card = find_machine("2*2x-rtx3090-nvlink@10gbe");
  const double both = busbw(GroupModel(one_card, strided_groups(4, 2, 2)), Collective::all_gather);
  const double one = busbw(GroupModel(one_card, {{0, 2}}), Collective::all_gather);
  EXPECT_NEAR(both, one / 2, 0.05 * one);
  const Machine rails = find_machine("2*dgx-h100@ndr");  // a card for each GPU
  const double eight = busbw(GroupModel(rails, strided_groups(16, 2, 8)), Collective::all_gather);
  const double alone = busbw(GroupModel(rails, {{0, 8}}), Collective::all_gather);
  EXPECT_GT(eight, 40);  // of one card: 50
  EXPECT_LT(alone, 50);  // a slot of PCIe 5 gives no more
}

// Of n ranks on NVSwitch each sends (n-1)/n of its buffer over its own links.
TEST(GroupModel, an_all_to_all_runs_at_the_rate_of_a_gpus_links) {
  const Machine machine = find_machine("8x-a100-sxm-80-nvswitch");
  const GroupModel model(machine, all_ranks(machine));
  EXPECT_NEAR(busbw(model, Collective::all_to_all), busbw(model, Collective::all_reduce), 25);
  const Machine nodes = find_machine("2*8x-a100-sxm-80-nvswitch@8x-hdr");
  // Half of what a rank sends goes to the other node, over its share of the cards: 25 GB/s at most.
  const GroupModel apart(nodes, all_ranks(nodes));
  const double gbps = static_cast<double>(kBig) / apart.time(Collective::all_to_all, kBig) / 1e9;
  EXPECT_LT(gbps, 2 * 25);
  EXPECT_GT(gbps, 2 * 25 * 0.7);
}

TEST(GroupModel, more_bytes_never_take_less_and_more_groups_never_make_one_faster) {
  for (const char* name : {"8x-rtx4090-pcie", "dgx-a100", "2*4x-rtx3090-nvlink@100gbe"}) {
    const Machine machine = find_machine(name);
    const GroupModel one(machine, {{0, 2}}), all(machine, strided_groups(8, 2, 2));
    for (const auto kind : {Collective::all_reduce, Collective::all_gather, Collective::broadcast,
                            Collective::reduce, Collective::reduce_scatter, Collective::all_to_all})
      for (Bytes bytes = 256; bytes <= kBig; bytes *= 2) {
        EXPECT_LE(all.time(kind, bytes), all.time(kind, 2 * bytes)) << name << " " << name_of(kind) << bytes;
        EXPECT_LE(one.time(kind, bytes), 1.000001 * all.time(kind, bytes)) << name << name_of(kind) << bytes;
      }
  }
}

TEST(GroupModel, thousands_of_nodes_cost_little_more_than_one) {
  const Machine machine = find_machine("2048*dgx-h100@ndr");
  const GroupModel replicas(machine, strided_groups(16384, 2048, 8));
  EXPECT_GT(replicas.time(Collective::all_gather, kBig), 0);
  EXPECT_LT(busbw(replicas, Collective::all_gather), 50);
}

TEST(GroupModel, refuses_ranks_that_are_not_there) {
  const Machine machine = find_machine("4x-rtx3090-nvlink");
  EXPECT_THROW(GroupModel(machine, {{0, 4}}), ConfigError);
  EXPECT_THROW(GroupModel(machine, {{0, 1}, {1, 2}}), ConfigError);
  EXPECT_THROW(GroupModel(machine, RankGroups{}), ConfigError);
  EXPECT_THROW(strided_groups(6, 4), ConfigError);
  const Machine huge = find_machine("256x-a40-pcie");
  EXPECT_THROW(GroupModel(huge, all_ranks(huge)).time(Collective::all_to_all, kBig), ConfigError);
  EXPECT_THROW(GroupModel(machine, all_ranks(machine)).time(Collective::barrier, 8), ConfigError);
  EXPECT_EQ(GroupModel(machine, {{2}}).time(Collective::all_reduce, kBig), 0);
}

TEST(GroupModel, says_why_trays_of_a_rack_can_not_do_without_nvlink) {
  const Machine rack = find_machine("gb200-nvl72");
  const auto off = nccl_settings({{"NCCL_P2P_DISABLE", "1"}});
  EXPECT_THAT([&] { GroupModel(rack, all_ranks(rack), default_calibration(), off); },
              testing::ThrowsMessage<ConfigError>(
                  testing::HasSubstr("NVLink alone can join them, which NCCL_P2P_DISABLE=1 turns off")));
  EXPECT_NO_THROW(GroupModel(rack, {{0, 1, 2, 3}}, default_calibration(), off)) << "one tray";
}

TEST(TransferModel, a_message_gets_the_link_between_the_two) {
  const Machine machine = find_machine("4x-rtx3090-nvlink");
  const double bridge = TransferModel(machine, {{0, 1}}).estimate(kBig).bus_gbps;
  const double slots = TransferModel(machine, {{1, 2}}).estimate(kBig).bus_gbps;
  EXPECT_NEAR(bridge, 46, 3);  // 4 links of 14.06, of which NCCL gets 0.82
  EXPECT_LT(slots, 27);
  EXPECT_EQ(path_name(TransferModel(machine, {{1, 2}}).estimate(kBig).way), "host memory");
  // The slowest decides, and bridges do not share.
  EXPECT_DOUBLE_EQ(TransferModel(machine, {{0, 1}, {1, 2}}).time(kBig),
                   TransferModel(machine, {{1, 2}}).time(kBig));
  EXPECT_DOUBLE_EQ(TransferModel(machine, {{0, 1}, {2, 3}}).estimate(kBig).bus_gbps, bridge);
}

TEST(TransferModel, prices_calls_that_are_messages) {
  const Machine machine = find_machine("4x-rtx4090-pcie");
  const auto time_of = [&](Collective kind) {
    return TransferModel(machine, message_pairs(kind, 4)).time(kBig);
  };
  EXPECT_DOUBLE_EQ(time_of(Collective::send), time_of(Collective::recv));
  EXPECT_NEAR(time_of(Collective::gather), 3 * time_of(Collective::send), 0.1 * time_of(Collective::gather))
      << "three messages into one slot";
  EXPECT_GT(time_of(Collective::exchange), time_of(Collective::send)) << "both directions of every slot";
  EXPECT_TRUE(message_pairs(Collective::all_reduce, 4).empty());
}

TEST(TransferModel, says_what_holds_messages_up) {
  const Machine one = find_machine("4x-rtx4090-pcie"), two = find_machine("2*dgx-h100@ndr");
  const auto inside = TransferModel(one, {{1, 0}}).estimate(kBig).narrowest,
             between = TransferModel(two, {{0, 8}}).estimate(kBig).narrowest;
  EXPECT_EQ(inside.by, Holdup::resource);
  EXPECT_NE(inside.place.find("GPU"), std::string::npos) << inside.place;
  EXPECT_EQ(between.by, Holdup::slots);
  EXPECT_TRUE(between.one_card);
  EXPECT_EQ(between.cards.count, 8);
  for (const Machine* machine : {&one, &two}) {
    const GroupModel all(*machine, all_ranks(*machine));
    EXPECT_NE(all.estimate(Collective::all_to_all, kBig).narrowest.by, Holdup::unknown);
  }
}

TEST(TransferModel, both_ways_at_once_share_a_slot) {
  const Machine machine = find_machine("2x-rtx3090-pcie");
  EXPECT_GT(TransferModel(machine, {{0, 1}, {1, 0}}).time(kBig),
            1.3 * TransferModel(machine, {{0, 1}}).time(kBig));
}

TEST(TransferModel, messages_between_nodes_share_the_cards) {
  const Machine one_card = find_machine("2*2x-rtx3090-nvlink@10gbe");
  const double one = TransferModel(one_card, {{0, 2}}).time(kBig);
  EXPECT_NEAR(TransferModel(one_card, {{0, 2}, {1, 3}}).time(kBig), 2 * one, 0.05 * one);
  EXPECT_NEAR(TransferModel(one_card, {{0, 2}, {3, 1}}).time(kBig), one, 0.01 * one);  // the other way
  const Machine rails = find_machine("2*dgx-h100@ndr");
  EXPECT_GT(TransferModel(rails, {{0, 8}, {1, 9}}).estimate(kBig).bus_gbps, 40);  // a card each
  EXPECT_THROW(TransferModel(rails, {{0, 16}}), ConfigError);
  EXPECT_THROW(TransferModel(rails, {{3, 3}}), ConfigError);
}

TEST(RingRate, is_what_max_min_sharing_gives_the_slowest_ring) {
  for (const char* name : {"4x-rtx3090-nvlink", "8x-rtx4090-pcie", "8x-a40-nvlink", "dgx-a100"}) {
    const NcclFabric fabric = nccl_fabric(find_machine(name));
    const NcclConstants& constants = default_calibration().values;
    std::vector<double> capacities;
    for (const Resource& one : fabric.rings.resources)
      capacities.push_back(capacity_of(one, constants, fabric.sm));
    const auto rates = fair_share(capacities, fabric.rings.routes);
    const double slowest = *std::ranges::min_element(rates) * static_cast<double>(rates.size());
    EXPECT_NEAR(ring_rate(fabric.rings, constants, fabric.sm).gbps, slowest, 1e-9 * slowest) << name;
  }
}

}  // namespace
}  // namespace gradwire
