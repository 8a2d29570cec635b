// Why GPUs talk through host memory, from a log and whatever else was given.
#include <gtest/gtest.h>

#include "explain/log_fixture.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

Gathered log_through_host_memory() {
  Gathered files;
  files.logs.push_back(small_log(kShm));
  return files;
}

// Two ranks with 20 ms of computing and 10 ms of an all-reduce of 25 MiB behind it, twice.
SampleTrace slow_rank(int rank) {
  SampleTrace trace;
  trace.distributed(rank, 2).gpus(2, "NVIDIA GeForce RTX 3090");
  for (int step = 0; step < 3; ++step) {
    const double begin = step * 31000.0;
    trace.step(step, begin, 31000).kernel(begin + 10, 20000);
    trace.host("cpu_op", "autograd::engine::evaluate_function: AddmmBackward0", begin + 2, 20);
    trace.all_reduce(begin + 20100, 10000, 25 << 18);
  }
  return trace;
}

Gathered slow_run() {
  Gathered files = log_through_host_memory();
  for (int rank = 0; rank < 2; ++rank) files.profiles.push_back(slow_rank(rank).profile());
  return files;
}

const Finding* find_rule(const Diagnosis& diagnosis, const char* rule) {
  for (const Finding& finding : diagnosis.findings)
    if (finding.rule == rule) return &finding;
  return nullptr;
}

TEST(HostMemory, says_that_nvlink_lies_idle_where_the_matrix_shows_it) {
  const auto diagnosis = diagnosis_of_log(kShm, kPair);
  ASSERT_EQ(first_rule(diagnosis), "R05");
  EXPECT_TRUE(says(diagnosis.findings[0].what, "though topo.txt shows NVLink")) << diagnosis.findings[0].what;
  EXPECT_TRUE(says(diagnosis.findings[0].fix, "NCCL_P2P_DISABLE"));
  EXPECT_FALSE(says(diagnosis.findings[0].fix, "bridge")) << diagnosis.findings[0].fix;
}

TEST(HostMemory, is_said_once_with_the_variable_of_a_script_that_causes_it) {
  Gathered files = slow_run();
  files.scripts.push_back(
      parse_script("import os\nimport torch\nos.environ[\"NCCL_P2P_DISABLE\"] = \"1\"\n", "train.py"));
  files.matrices.push_back({"topo.txt", parse_matrix(kPair, "topo.txt")});
  const auto diagnosis = diagnose(make_case(std::move(files), "2x-rtx3090-nvlink"));
  ASSERT_EQ(first_rule(diagnosis), "R06");
  EXPECT_TRUE(says(diagnosis.findings[0].evidence, "train.py:3")) << diagnosis.findings[0].evidence;
  EXPECT_TRUE(says(diagnosis.findings[0].evidence, "via SHM")) << diagnosis.findings[0].evidence;
  EXPECT_TRUE(says(diagnosis.findings[0].what, "NVLink that topo.txt shows lies idle"));
  EXPECT_TRUE(diagnosis.findings[0].cost_ms);
  EXPECT_EQ(find_rule(diagnosis, "R05"), nullptr);
  EXPECT_EQ(find_rule(diagnosis, "R11"), nullptr) << "slow calls are what came of it";
}

TEST(HostMemory, is_caused_once_by_a_variable_that_a_log_shows_and_a_script_sets) {
  Gathered files;
  files.logs.push_back(small_log("n:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n" + kShm));
  files.scripts.push_back(
      parse_script("import os\nimport torch\nos.environ[\"NCCL_P2P_DISABLE\"] = \"1\"\n", "train.py"));
  const auto diagnosis = diagnose(make_case(std::move(files), ""));
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_TRUE(says(diagnosis.findings[0].evidence, "run.log:1"));
  EXPECT_TRUE(says(diagnosis.findings[0].evidence, "train.py:3"));
  EXPECT_TRUE(says(diagnosis.findings[0].fix, "remove the line"));
}

TEST(HostMemory, is_explained_by_an_environment_also_where_the_log_shows_other_variables) {
  CaseFile given;
  given.files.logs.push_back(
      small_log("n:1:2 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to eth0\n" + kShm));
  given.files.environments.push_back(parse_environment("NCCL_P2P_DISABLE=1\n", "env.txt"));
  const auto diagnosis = diagnose(given);
  EXPECT_EQ(first_rule(diagnosis), "R06");
  EXPECT_EQ(find_rule(diagnosis, "R05"), nullptr);
}

TEST(HostMemory, is_the_only_way_between_gpus_that_have_no_peer_access) {
  const auto without_bridge = diagnose(make_case(log_through_host_memory(), "2x-rtx3090-pcie"));
  ASSERT_EQ(first_rule(without_bridge), "R05");
  EXPECT_TRUE(says(without_bridge.findings[0].what, "has no peer access over PCIe"));
  EXPECT_TRUE(says(without_bridge.findings[0].fix, "an NVLink bridge"));
  const auto without_connector = diagnose(make_case(log_through_host_memory(), "2x-rtx4090-pcie"));
  EXPECT_TRUE(says(without_connector.findings.at(0).fix, "no connector for NVLink"));
  const auto with_peers = diagnose(make_case(log_through_host_memory(), "2x-a40-pcie"));
  EXPECT_FALSE(says(with_peers.findings.at(0).what, "has no peer access"));
}

TEST(HostMemory, has_no_price_against_a_machine_that_has_no_other_way) {
  const auto diagnosis = diagnose(make_case(slow_run(), "2x-rtx3090-pcie"));
  const Finding* shared = find_rule(diagnosis, "R05");
  ASSERT_NE(shared, nullptr);
  EXPECT_FALSE(shared->cost_ms);
  EXPECT_TRUE(says(shared->cost_note, "talk through host memory too")) << shared->cost_note;
  const Finding* rate = find_rule(diagnosis, "R11");
  ASSERT_NE(rate, nullptr) << "half of what host memory gives is another matter";
  EXPECT_FALSE(says(rate->fix, "NCCL_DEBUG")) << "that log is here";
}

TEST(HostMemory, costs_together_no_more_than_the_communication_that_there_is) {
  for (const char* machine : {"2x-rtx3090-pcie", "2x-rtx3090-nvlink"}) {
    const auto given = make_case(slow_run(), machine);
    const auto diagnosis = diagnose(given);
    double sum = 0;
    for (const Finding& finding : diagnosis.findings) sum += finding.cost_ms.value_or(0);
    EXPECT_GT(sum, 0);
    EXPECT_LE(sum, mean_exposed(*given.analysis) * 1e3 * (1 + 1e-6)) << machine;
  }
}

TEST(HostMemory, does_not_ask_for_traces_that_were_given) {
  for (const Finding& finding : diagnose(make_case(slow_run(), "")).findings)
    EXPECT_TRUE(finding.cost_ms || !finding.cost_note.empty()) << finding.what;
}

TEST(HostMemory, of_a_machine_that_was_named_with_nvlink_leaves_nvlink_there_and_unused) {
  Gathered files;
  files.logs.push_back(small_log(
      kShm + "n:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n" +
      "n:1:2 [0] NCCL INFO P2P Chunksize set to 131072\n"));
  const auto bridged = diagnose(make_case(files, "2x-rtx3090-nvlink"));
  EXPECT_EQ(bridged.nvlink.present, Answered::yes);
  EXPECT_EQ(bridged.nvlink.used, Answered::no);
  EXPECT_TRUE(says(bridged.findings.at(0).what, "2x-rtx3090-nvlink shows NVLink"));
  EXPECT_EQ(diagnose(make_case(files, "2x-rtx3090-pcie")).nvlink.present, Answered::no);
  EXPECT_EQ(diagnose(make_case(files, "")).nvlink.used, Answered::no);
}

}  // namespace
}  // namespace gradwire
