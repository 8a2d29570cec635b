#include "predict/backends/own.h"

#include <gmock/gmock.h>

#include "base/error.h"
#include "predict/backends/host_network.h"

namespace gradwire {
namespace {

using ::testing::HasSubstr;
using ::testing::ThrowsMessage;

const OwnCosts& costs() {
  static const OwnCosts all = default_own_costs();
  return all;
}

Seconds time_on(const std::string& machine, Backend backend, Bytes bytes) {
  return own_all_reduce(backend, costs(), find_machine(machine), bytes).time;
}

TEST(OwnBackends, costs_fit_the_sweep_they_come_from) {
  RecordProperty("tcp_error", std::to_string(costs().tcp_error));
  EXPECT_LT(costs().tcp_error, 0.15);
  EXPECT_GT(costs().process_bytes_per_s, 1e9);
  EXPECT_LT(costs().process_bytes_per_s, 10e9);
}

// docs/performance.md, "Over a cable": 64 MiB at 0.956 Gbit/s and 9.56 Gbit/s on links of 1 and 10.
TEST(OwnBackends, tcp_over_a_cable_is_what_was_measured) {
  const double bits = 8.0 * (64 << 20);
  EXPECT_NEAR(time_on("2*1x-rtx3090-pcie@1gbe", Backend::tcp, 64 << 20), bits / 0.956e9,
              0.05 * bits / 0.956e9);
  EXPECT_NEAR(time_on("2*1x-rtx3090-pcie@10gbe", Backend::tcp, 64 << 20), bits / 9.56e9,
              0.05 * bits / 9.56e9);
}

// With 4 ranks on each of 2 hosts a ring of 8 sends 14/8 of the buffer over each card; lanes send all of it
// once.
TEST(OwnBackends, lanes_send_each_byte_once_over_the_card) {
  const auto machine = find_machine("2*4x-rtx3090-pcie@1gbe");
  const auto estimate = own_all_reduce(Backend::shm_tcp, costs(), machine, 64 << 20);
  const double once = (64 << 20) / card_rate(machine);
  EXPECT_TRUE(estimate.network_bound);
  EXPECT_NEAR(estimate.time, once, 0.05 * once);
  EXPECT_LE(estimate.time, 1.01 * time_on("2*4x-rtx3090-pcie@1gbe", Backend::tcp, 64 << 20));
}

TEST(OwnBackends, shared_memory_beats_loopback) {
  for (const Bytes bytes : {Bytes{4}, Bytes{64 << 10}, Bytes{64 << 20}})
    EXPECT_LT(time_on("4x-rtx3090-pcie", Backend::shm, bytes),
              time_on("4x-rtx3090-pcie", Backend::tcp, bytes))
        << bytes;
}

TEST(OwnBackends, the_memory_of_a_host_bounds_many_ranks) {
  const auto machine = find_machine("8x-rtx3090-pcie");
  const Bytes bytes = Bytes{1} << 30;
  EXPECT_GE(time_on("8x-rtx3090-pcie", Backend::shm, bytes), 8 * double(bytes) / memory_rate(machine));
}

TEST(OwnBackends, says_what_cannot_be) {
  const auto large = find_machine("256*dgx-h100@ndr"), two = find_machine("2*1x-rtx3090-pcie@10gbe");
  EXPECT_THAT([&] { own_all_reduce(Backend::tcp, costs(), large, 4); },
              ThrowsMessage<ConfigError>(HasSubstr("up to 1024")));
  EXPECT_THAT([&] { own_all_reduce(Backend::shm, costs(), two, 4); },
              ThrowsMessage<ConfigError>(HasSubstr("shm+tcp")));
  EXPECT_THROW(own_costs_from_bench("{\"rows\": ["), ConfigError);
}

}  // namespace
}  // namespace gradwire
