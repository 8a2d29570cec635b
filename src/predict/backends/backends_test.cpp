#include "predict/backends/backends.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

TEST(Backends, a_ring_over_slow_ethernet_is_bound_by_the_card) {
  const Machine machine = find_machine("2*1x-rtx3090-pcie@1gbe");
  const auto estimate = backend_all_reduce(default_backend_cost(Backend::gloo), machine, 64 << 20);
  EXPECT_TRUE(estimate.network_bound);
  EXPECT_NEAR(estimate.time, 0.558, 0.05 * 0.558);  // Gloo measured over 1 Gbit/s: 558 ms for 64 MiB
}

TEST(Backends, on_one_host_the_software_sets_the_rate) {
  const Machine machine = find_machine("2x-rtx3090-pcie");
  const auto estimate = backend_all_reduce({1e-3, 1e9}, machine, 1000000000);
  EXPECT_FALSE(estimate.network_bound);
  EXPECT_DOUBLE_EQ(estimate.time, 1.002);  // 2 steps of 1 ms; 1 GB at 1 GB/s, 2(n-1)/n = 1
}

TEST(Backends, costs_come_from_a_bench_of_ones_own) {
  const std::string bench = R"({"rows":[
    {"backend":"tcp","collective":"all_reduce","ranks":2,"bytes":4,"time_us":20},
    {"backend":"shm","collective":"all_reduce","ranks":2,"bytes":4,"time_us":1},
    {"backend":"tcp","collective":"all_reduce","ranks":2,"bytes":1000000,"time_us":1020}]})";
  const BackendCost cost = backend_cost_from_bench(bench, Backend::tcp, "b.json");
  EXPECT_DOUBLE_EQ(cost.step, 10e-6);
  EXPECT_NEAR(cost.host_bytes_per_s, 1e9, 1);
  EXPECT_THROW(backend_cost_from_bench(bench, Backend::shm, "b.json"), ConfigError);
  EXPECT_THROW(backend_cost_from_bench(bench.substr(0, 50), Backend::tcp, "b.json"), ConfigError);
  EXPECT_THROW(backend_cost_from_bench("[]", Backend::tcp, "b.json"), ConfigError);
}

TEST(Backends, an_unknown_one_is_refused_by_naming_the_others) {
  try {
    parse_backend("nosuch");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_STREQ(error.what(),
                 "'nosuch' has no model: with --on there are nccl, gloo, mpi, shm, tcp, shm+tcp");
  }
}

}  // namespace
}  // namespace gradwire
