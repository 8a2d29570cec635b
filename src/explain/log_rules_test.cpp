#include <fmt/format.h>
#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

TEST(DoctorOnLogs, finds_the_variable_that_turns_peers_off_before_what_came_of_it) {
  const auto diagnosis =
      diagnosis_of_log("n:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n" + kShm);
  ASSERT_EQ(diagnosis.findings.size(), 1u);  // the transport is its consequence, not a second finding
  EXPECT_EQ(first_rule(diagnosis), "R06");
  EXPECT_EQ(diagnosis.findings[0].evidence, "run.log:1: NCCL_P2P_LEVEL set to LOC");
  EXPECT_EQ(diagnosis.nvlink.used, Answered::no);
}

TEST(DoctorOnLogs, tells_some_pairs_from_all) {
  EXPECT_EQ(diagnosis_of_log(kShm).findings.at(0).severity, Severity::high);
  const auto some = diagnosis_of_log(kP2p + kShm);
  EXPECT_EQ(some.findings.at(0).severity, Severity::medium);
  EXPECT_TRUE(some.findings[0].what.starts_with("some pairs"));
}

TEST(DoctorOnLogs, finds_host_memory_between_gpus) { EXPECT_EQ(first_rule(diagnosis_of_log(kShm)), "R05"); }

TEST(DoctorOnLogs, blames_one_gpu_a_process_where_all_say_device_0) {
  EXPECT_EQ(
      first_rule(diagnosis_of_log(
          kShm + "n:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n"
                 "n:2:2 [0] NCCL INFO comm 0x2 rank 1 nranks 2 cudaDev 0 busId 2000 - Init COMPLETE\n")),
      "R17");
}

TEST(DoctorOnLogs, finds_peers_that_are_blocked) {
  EXPECT_EQ(first_rule(diagnosis_of_log(
                "n:1:2 [0] NCCL INFO P2P is disabled between connected GPUs 1 and 0. You can repress this\n" +
                kShm)),
            "R12");
}

TEST(DoctorOnLogs, finds_cards_that_could_read_gpus_and_do_not) {
  const std::string cards = "n:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0\n";
  const std::string staged = "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(cards + staged)), "R38");
  EXPECT_EQ(first_rule(diagnosis_of_log(
                cards + "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/IB/0/GDRDMA\n")),
            "");
  EXPECT_EQ(
      first_rule(diagnosis_of_log("n:1:2 [0] NCCL INFO NET/IB : Using [0]hfi1_0:1/IB ; OOB ib0\n" + staged)),
      "");  // Omni-Path can't
  EXPECT_EQ(
      first_rule(diagnosis_of_logs(
          {cards + staged, "n:2:3 [1] NCCL INFO Channel 01/0 : 1[1] -> 9[1] [send] via NET/IB/0/GDRDMA\n"})),
      "");  // a file a rank, and the card is far from this one's GPU
}

TEST(DoctorOnLogs, does_not_take_two_machines_of_one_name_for_one) {
  const std::string network =
      "box:1:2 [0] NCCL INFO Channel 00/0 : 1[2a000] -> 8[27000] [send] via NET/Socket/0\n";
  const auto rank = [](int number, const char* bus) {
    return fmt::format(
        "box:{}:2 [0] NCCL INFO comm 0x1 rank {} nranks 16 cudaDev 0 busId {} - Init COMPLETE\n", number + 10,
        number, bus);
  };
  EXPECT_EQ(first_rule(diagnosis_of_log(network + rank(1, "2a000") + rank(8, "27000"))), "R17");
  EXPECT_EQ(first_rule(diagnosis_of_log(network + rank(0, "27000") + rank(1, "2a000") + rank(8, "27000"))),
            "");
}

TEST(DoctorOnLogs, finds_host_memory_also_where_a_variable_narrows_something_else) {
  const auto diagnosis =
      diagnosis_of_log("n:1:2 [0] NCCL INFO NCCL_MAX_NCHANNELS set by environment to 1.\n" + kShm);
  EXPECT_EQ(first_rule(diagnosis), "R05");
  EXPECT_EQ(diagnosis.findings.size(), 2u);
}

TEST(DoctorOnLogs, knows_that_rccl_has_no_nvlink_and_only_hints_at_what_it_always_warns_of) {
  const auto diagnosis = diagnosis_of_log("RCCL version 2.20.5+hip6.2\n" + kP2p +
                                          "n:1:1 [0] init.cc:136 NCCL WARN Missing \"iommu=pt\" from kernel "
                                          "command line which can lead to a hang!\n");
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_EQ(diagnosis.hints.size(), 1u);
  EXPECT_EQ(diagnosis.nvlink.used, Answered::no);
}

TEST(DoctorOnLogs, finds_nothing_in_a_healthy_log_and_says_what_it_looked_at) {
  const auto diagnosis =
      diagnosis_of_log(kP2p + "n:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to PIX\n");
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_EQ(diagnosis.looked_at, std::vector<std::string>{"a log of NCCL"});
  EXPECT_EQ(diagnosis.nvlink.used, Answered::unknown);  // P2P is NVLink or PCIe
}

TEST(DoctorOnLogs, joins_the_files_of_a_run_that_wrote_one_a_rank) {
  const auto rank = [](int number) {
    return fmt::format(
        "n:{0}:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank {0} nranks 2 cudaDev 0 nvmlDev 0 busId {0}000 "
        "- Init START\n"
        "n:{0}:2 [0] NCCL INFO Channel 00 : {0}[0] -> {1}[0] via SHM/direct/direct\n",
        number, 1 - number);
  };
  EXPECT_EQ(first_rule(diagnosis_of_logs({rank(0), rank(1)})), "R17");
}

TEST(DoctorOnLogs, lets_an_environment_explain_a_log_that_shows_no_variables) {
  CaseFile given;
  given.files.logs.push_back(small_log(kShm));
  given.files.environments.push_back(parse_environment("NCCL_P2P_DISABLE=1\n", "env.txt"));
  const auto diagnosis = diagnose(given);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(first_rule(diagnosis), "R06");
}

TEST(DoctorOnLogs, does_not_mind_peers_that_are_off_where_a_gpu_has_none) {
  EXPECT_EQ(
      first_rule(diagnosis_of_log(
          "n:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1000 - Init START\n"
          "n:1:2 [0] NCCL INFO NCCL_P2P_DISABLE set by environment to 1.\n")),
      "");
}

const std::string kNoCard =
    "n:1:2 [0] NCCL INFO NET/IB : No device found.\nn:1:2 [0] NCCL INFO Using network Socket\n";

TEST(DoctorOnLogs, finds_gpudirect_off_before_anything_is_connected) {
  const std::string off =
      "n:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.1<0>\n"
      "n:1:2 [0] NCCL INFO NET/IB : GPU Direct RDMA Disabled for HCA 0 'mlx5_0'\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(off + kTwoNodes)), "R38");
  EXPECT_EQ(first_rule(diagnosis_of_log(off)), "");  // inside a node nobody needs it
}

TEST(DoctorOnLogs, finds_cards_that_a_variable_misnames_or_a_container_hides) {
  EXPECT_EQ(first_rule(diagnosis_of_log(kTwoNodes + kNoCard)), "");
  EXPECT_EQ(
      first_rule(diagnosis_of_log("n:1:2 [0] NCCL INFO NCCL_IB_HCA set to mlx5_9\n" + kTwoNodes + kNoCard)),
      "R37");
  const std::string closed =
      "n:1:2 [0] transport/net_ib.cc:148 NCCL WARN NET/IB : Unable to open device mlx5_bond_0\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(closed + kNoCard)), "R37");
  EXPECT_EQ(first_rule(diagnosis_of_log(closed +
                                        "n:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_1:1/RoCE ; OOB eth0\n")),
            "");  // another is there
}

TEST(DoctorOnLogs, tells_two_nodes_of_one_name_by_their_addresses) {
  EXPECT_EQ(first_rule(diagnosis_of_log("u:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n"
                                        "u:1:2 [0] NCCL INFO Bootstrap: Using ib0:192.168.1.10<0>\n"
                                        "u:3:4 [0] NCCL INFO Bootstrap : Using ib0:192.168.1.14<0>\n")),
            "R37");
}

const std::string kNoInfiniband = "n:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 1.\n";

TEST(DoctorOnLogs, does_not_mind_infiniband_off_where_another_network_carries_the_nodes) {
  const auto rule = [](const std::string& network) {
    return first_rule(diagnosis_of_log(kNoInfiniband + kTwoNodes + network));
  };
  EXPECT_EQ(rule("n:1:2 [0] NCCL INFO Using network Socket\n"), "R37");
  EXPECT_EQ(rule("n:1:2 [0] NCCL INFO Using network AWS Libfabric\n"), "");
  EXPECT_EQ(rule("n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] via P2P/MNNVL\n"), "");
  EXPECT_EQ(rule("n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/FasTrak/0/GDRDMA\n"), "");
  EXPECT_EQ(first_rule(diagnosis_of_logs(
                {kNoInfiniband + kTwoNodes, "m:1:2 [0] NCCL INFO Using network FasTrak\n"})),
            "");  // a file a rank
}

TEST(DoctorOnLogs, takes_sockets_that_a_variable_names_for_infiniband_turned_off) {
  const std::string sockets =
      "n:1:2 [0] NCCL INFO NCCL_NET set by environment to Socket\n"
      "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via NET/Socket/0\n";
  const auto diagnosis = diagnosis_of_log(sockets + kTwoNodes);
  ASSERT_EQ(first_rule(diagnosis), "R37");
  EXPECT_TRUE(diagnosis.findings[0].what.starts_with("NCCL_NET=Socket"));
  EXPECT_TRUE(diagnosis.hints.empty());
}

TEST(DoctorOnLogs, believes_a_log_before_an_environment_how_many_nodes_there_were) {
  const auto rule = [](const std::string& lines) {
    CaseFile given;
    given.files.logs.push_back(small_log(kP2p + lines));
    given.files.environments.push_back(parse_environment("NCCL_IB_DISABLE=1\n", "env.txt"));
    return first_rule(diagnose(given));
  };
  EXPECT_EQ(rule("n:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n"),
            "");
  EXPECT_EQ(rule("n:1:2 [0] NCCL INFO comm 0x5 rank 0 nranks 2 cudaDev 0 busId 1000 - Init COMPLETE\n"
                 "n:1:2 [1] NCCL INFO comm 0x6 rank 1 nranks 2 cudaDev 1 busId 2000 - Init COMPLETE\n"),
            "");
  EXPECT_EQ(rule("n:1:2 [0] NCCL INFO comm 0x5 rank 0 nranks 8 cudaDev 0 busId 1000 - Init COMPLETE\n"),
            "R37");
  EXPECT_EQ(rule(kTwoNodes), "R37");
}

TEST(DoctorOnLogs, speaks_of_xgmi_where_the_gpus_are_amds) {
  const auto finding = diagnosis_of_log("RCCL version 2.18.6+hip6.0\n" + kShm).findings.at(0);
  EXPECT_EQ(finding.rule, "R05");
  EXPECT_TRUE(says(finding.what, "xGMI")) << finding.what;
  EXPECT_TRUE(says(finding.fix, "rocm-smi")) << finding.fix;
  EXPECT_FALSE(says(finding.what + finding.fix, "NVLink")) << finding.fix;
}

TEST(DoctorOnLogs, blames_the_variable_that_sends_neighbours_over_the_network) {
  const std::string network = "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/Socket/0\n";
  const std::string node =
      "n:1:2 [0] NCCL INFO comm 0x5 rank 0 nRanks 2 nNodes 1 localRanks 2 localRank 0 MNNVL 0\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(node + network)), "R17");
  EXPECT_EQ(first_rule(diagnosis_of_log("n:1:2 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 1.\n" +
                                        node + network)),
            "R06");
}

TEST(DoctorOnLogs, reads_how_old_versions_say_that_peers_are_blocked) {
  const std::string blocked =
      "n:1:2 [0] NCCL INFO Could not enable P2P between dev 1(=1b000) and dev 0(=1a000)\n";
  const std::string shm = "n:1:2 [0] NCCL INFO Channel 00 : 0[1a000] -> 1[1b000] via direct shared memory\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(blocked + shm)), "R12");
  // Cards that a bridge joins in pairs: the others were never meant to reach each other.
  EXPECT_EQ(first_rule(diagnosis_of_log(kP2p + blocked + shm)), "R05");
}

TEST(DoctorOnLogs, knows_that_old_versions_read_a_word_as_the_level_0) {
  CaseFile given;
  given.files.logs.push_back(small_log(
      "NCCL version 2.5.6+cuda10.2\nn:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to 0.\n" + kShm));
  EXPECT_EQ(first_rule(diagnose(given)), "R06");
  given.files.environments.push_back(parse_environment("NCCL_P2P_LEVEL=NVL\n", "env.txt"));
  EXPECT_EQ(first_rule(diagnose(given)), "R07");
}

TEST(DoctorOnLogs, takes_an_environment_of_one_node_for_that) {
  const auto rule_of = [](const std::string& variables) {
    CaseFile given;
    given.files.environments.push_back(parse_environment("NCCL_IB_DISABLE=1\n" + variables, "env.txt"));
    return first_rule(diagnose(given));
  };
  EXPECT_EQ(rule_of("SLURM_NNODES=2\n"), "R37");
  EXPECT_EQ(rule_of("SLURM_NNODES=1\n"), "");
  EXPECT_EQ(rule_of("WORLD_SIZE=8\nLOCAL_WORLD_SIZE=8\n"), "");
}

TEST(DoctorOnLogs, finds_that_one_card_carries_what_several_could) {
  const auto log = [](const char* second) {
    std::string lines =
        "n:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [2]mlx5_2:1/IB "
        "[3]mlx5_3:1/IB [RO]; OOB eth0\n";
    for (int rank = 0; rank < 4; ++rank)
      lines += fmt::format(
          "n:1:2 [{0}] NCCL INFO ncclCommInitRank comm 0x1 rank {0} nranks 8 cudaDev {0} busId {0}000 - Init "
          "START\nn:1:2 [{0}] NCCL INFO comm 0x1 rank {0} nRanks 8 nNodes 2 localRanks 4 localRank {0} MNNVL "
          "0\n",
          rank);
    return lines + "n:1:2 [3] NCCL INFO Channel 00/0 : 3[3] -> 4[0] [send] via NET/IB/0/GDRDMA\n" +
           "n:1:2 [3] NCCL INFO Channel 01/0 : 3[3] -> 4[0] [send] via NET/IB/" + second + "/GDRDMA\n";
  };
  EXPECT_EQ(first_rule(diagnosis_of_log(log("0"))), "R39");
  EXPECT_EQ(first_rule(diagnosis_of_log(log("2"))), "");
}

TEST(DoctorOnLogs, hints_at_cards_that_are_far_from_their_gpus) {
  const std::string near = "n:1:2 [0] NCCL INFO Channel 00/0 : 7[3] -> 0[0] [receive] via NET/IB/0/GDRDMA\n";
  const std::string far = "n:1:2 [0] NCCL INFO Channel 01/0 : 7[3] -> 0[0] [receive] via NET/IB/1\n";
  const auto hints = [](const std::string& lines) {
    return diagnosis_of_log(kTwoNodes + lines).hints.size();
  };
  EXPECT_EQ(hints(near + far), 1u);
  EXPECT_EQ(hints(near), 0u);
  EXPECT_TRUE(diagnosis_of_log(kTwoNodes + near + far).findings.empty());
}

TEST(DoctorOnLogs, minds_the_loopback_between_nodes) {
  const std::string named = "n:1:2 [0] NCCL INFO NCCL_SOCKET_IFNAME set by environment to lo\n";
  EXPECT_EQ(first_rule(diagnosis_of_log(kTwoNodes + named)), "R36");
  EXPECT_EQ(diagnosis_of_log(named).hints.size(), 1u);
  const auto inside = diagnosis_of_log(kOneNode + named);
  EXPECT_TRUE(inside.findings.empty() && inside.hints.empty());
}

TEST(DoctorOnLogs, hints_at_a_plugins_cards_that_do_not_read_gpus) {
  const auto hinted = [](const char* via) {
    const auto diagnosis = diagnosis_of_log(
        kTwoNodes + "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 8[0] [send] via " + via + "\n");
    EXPECT_TRUE(diagnosis.findings.empty()) << via << ": machines may have no better cards";
    return !diagnosis.hints.empty() && diagnosis.hints[0].rule == "R38";
  };
  EXPECT_TRUE(hinted("NET/AWS Libfabric/1"));
  EXPECT_FALSE(hinted("NET/AWS Libfabric/1/GDRDMA"));
  EXPECT_FALSE(hinted("NET/Socket/1"));
}

}  // namespace
}  // namespace gradwire
