// What a log and a trace say together of the machine.
#include <gtest/gtest.h>

#include "explain/log_fixture.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

constexpr const char* kA100 = "NVIDIA A100-SXM4-80GB";

// One of `world` ranks, alone on what it sees; an all-reduce of 100 MB takes 4 of 10 ms.
SampleTrace trace_of(int world, const char* gpu) {
  SampleTrace trace;
  trace.distributed(0, world).gpus(1, gpu).step(0, 0, 10000).kernel(10, 5000);
  trace.all_reduce(5010, 4000, 25'000'000, world);
  return trace;
}

std::string shape(int ranks, int nodes) {
  return fmt::format(
      "n:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks {} nNodes {} localRanks {} localRank 0 MNNVL 0\n", ranks,
      nodes, ranks / nodes);
}

CaseFile case_of(const SampleTrace& trace, const std::string& lines) {
  Gathered files;
  files.profiles.push_back(trace.profile());
  files.logs.push_back(small_log(lines));
  return make_case(std::move(files), "");
}

std::optional<double> expected(const CaseFile& given) {
  return given.analysis->collectives.at(0).expected_busbw_gbps;
}

TEST(LoggedMachine, gives_the_rates_to_expect_where_the_log_tells_how_gpus_are_joined) {
  const auto given = case_of(trace_of(8, kA100), shape(8, 1) + kP2p);
  ASSERT_TRUE(expected(given));
  EXPECT_EQ(expected(given), *make_case(
                                  [] {
                                    Gathered files;
                                    files.profiles.push_back(trace_of(8, kA100).profile());
                                    return files;
                                  }(),
                                  "8x-a100-sxm-80-nvswitch")
                                  .analysis->collectives.at(0)
                                  .expected_busbw_gbps);
  EXPECT_EQ(given.analysis->verdict.bottleneck, Bottleneck::communication_intra);
  EXPECT_TRUE(says(given.analysis->notes.back(), "run.log:8x-a100-sxm-80-nvswitch, taken from the log"))
      << given.analysis->notes.back();
  EXPECT_FALSE(given.machine);  // nobody stated it
}

TEST(LoggedMachine, is_not_guessed) {
  const char* bridged = "NVIDIA GeForce RTX 3090";
  EXPECT_FALSE(expected(case_of(trace_of(2, bridged), shape(2, 1) + kP2p)));  // NVLink or PCIe
  EXPECT_TRUE(expected(case_of(trace_of(2, bridged),
                               shape(2, 1) + kP2p + "n:1:2 [0] NCCL INFO P2P Chunksize set to 524288\n")));
  EXPECT_FALSE(expected(case_of(trace_of(8, kA100), shape(8, 1) + kShm)));  // something is wrong there
  EXPECT_FALSE(expected(case_of(trace_of(8, kA100), kP2p)));                // how many there are
  EXPECT_FALSE(expected(case_of(trace_of(8, "Some GPU"), shape(8, 1) + kP2p)));
}

TEST(LoggedMachine, has_several_nodes_where_the_log_says_how_fast_their_network_is) {
  const std::string network =
      "n:1:2 [0] NCCL INFO Using network IB\n"
      "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n";
  const auto unknown = case_of(trace_of(16, kA100), shape(16, 2) + kP2p + network);
  EXPECT_FALSE(expected(unknown));
  EXPECT_EQ(unknown.analysis->verdict.bottleneck, Bottleneck::communication_inter);
  const auto known =
      case_of(trace_of(16, kA100), shape(16, 2) + kP2p + network +
                                       "n:1:2 [0] NCCL INFO NET/IB: [0] mlx5_0:uverbs0:1/IB provider=Mlx5 "
                                       "speed=200000 context=0x5 pciPath=/sys ar=1\n");
  ASSERT_TRUE(expected(known));
  EXPECT_LT(*expected(known), 50);  // one card of 25 GB/s a node
}

TEST(LoggedMachine, tells_where_ranks_are_only_of_its_own_run) {
  const auto other = case_of(trace_of(8, kA100), shape(16, 2) + kP2p);
  EXPECT_TRUE(expected(other));  // the node is the same
  EXPECT_EQ(other.analysis->verdict.bottleneck, Bottleneck::communication);
  EXPECT_TRUE(says(other.analysis->notes.back(), "run.log is of a run of 16 ranks, not of this one of 8"))
      << other.analysis->notes.back();
  const auto own = case_of(trace_of(8, kA100), shape(8, 2) + kP2p);
  EXPECT_EQ(own.analysis->verdict.bottleneck, Bottleneck::communication_inter);
}

}  // namespace
}  // namespace gradwire
