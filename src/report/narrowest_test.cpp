#include "report/narrowest.h"

#include <gtest/gtest.h>

#include "predict/nccl/collective.h"

namespace gradwire {
namespace {

constexpr Bytes kLarge = 256 << 20;

std::string on(const char* machine) {
  return to_words(NcclModel(find_machine(machine)).all_reduce(kLarge).narrowest);
}

TEST(Narrowest, inside_a_node_names_the_resource_and_how_often_a_byte_crosses_it) {
  EXPECT_TRUE(on("2x-rtx4090-pcie-pix").starts_with("uplink ")) << on("2x-rtx4090-pcie-pix");
  EXPECT_TRUE(on("2x-rtx4090-pcie-pix").ends_with(", both ways: crossed 4 times by every byte"));
  EXPECT_EQ(on("2x-rtx3090-pcie"), "PCIe slot of GPU0, both ways: crossed 2 times by every byte");
  EXPECT_EQ(to_words(Narrowest{
                .by = Holdup::resource, .resource = {.kind = ResourceKind::memory}, .place = "CPU1"}),
            "memory CPU1");
}

// A slot of 15.75 GB/s (PCIe 4 x8) gives host memory 0.855 of that, both ways together: 6.7 each. A byte waits for that and
// for reads of 37 GB/s: 5.7.
TEST(Narrowest, between_nodes_names_the_network_and_what_is_in_its_way) {
  EXPECT_EQ(on("2*2x-rtx3090-nvlink@10gbe"), "network: 1 x 10 Gbit/s ethernet, 1.18 GB/s");
  EXPECT_EQ(on("2*2x-rtx3090-nvlink@400gbe"),
            "copies through host memory, 5.62 GB/s, to the network: 1 x 400 Gbit/s ethernet");
  const TransferModel message(find_machine("2*dgx-h100@ndr"), {{0, 8}});
  EXPECT_TRUE(to_words(message.estimate(kLarge).narrowest)
                  .starts_with("PCIe slots on the way to the network: a card of 8 x 400 Gbit/s"));
}

TEST(Narrowest, without_a_model_of_links_says_whose_rate_it_is) {
  EXPECT_EQ(to_words(held_by_host(Backend::shm_tcp, false)), "shm+tcp's own rate");
  EXPECT_EQ(to_words(held_by_host(Backend::gloo, true)), "network card");
  EXPECT_EQ(to_words(Narrowest{.by = Holdup::measured}), "as measured");
  EXPECT_EQ(to_words(Narrowest{}), "");
}

}  // namespace
}  // namespace gradwire
