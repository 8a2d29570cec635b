#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

std::string rank_line(int rank, const char* host, const char* gpu) {
  return "#  Rank  " + std::to_string(rank) + " Group  0 Pid  41 on  " + host + " device  0 [0x07] " + gpu +
         "\n";
}

NvlinkAnswer answer_of_table(const std::string& ranks, const char* busbw) {
  CaseFile given;
  given.files.tables.push_back(parse_nccl_tests(ranks + "1073741824 268435456 float sum -1 5338.2 201.14 " +
                                                    busbw + " 0 5365.0 200.14 " + busbw + " 0\n",
                                                "tests.txt"));
  return diagnose(given).nvlink;
}

TEST(NvlinkSigns, are_rates_that_pcie_does_not_carry) {
  const char* const gpu = "NVIDIA H100 80GB HBM3";
  const std::string one = rank_line(0, "a", gpu) + rank_line(1, "a", gpu);
  EXPECT_EQ(answer_of_table(one, "352.00").used, Answered::yes);
  EXPECT_EQ(answer_of_table(one, "42.00").used, Answered::unknown);
  EXPECT_EQ(answer_of_table(one + rank_line(2, "b", gpu), "352.00").used, Answered::unknown);
  const char* const amd = "AMD Instinct MI300X";
  EXPECT_EQ(answer_of_table(rank_line(0, "a", amd) + rank_line(1, "a", amd), "352.00").used,
            Answered::unknown);
}

TEST(NvlinkSigns, are_absent_where_every_rank_has_a_host_of_its_own) {
  EXPECT_EQ(
      answer_of_table(rank_line(0, "a", "NVIDIA GB10") + rank_line(1, "b", "NVIDIA GB10"), "23.74").used,
      Answered::no);
}

Diagnosis diagnosis_of_rates(const std::string& with, const std::string& without) {
  CaseFile given;
  given.files.peers.push_back(parse_peer_test(
      "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n  0 900.5 " + without +
          "\nUnidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n  0 900.5 " + with + "\n",
      "p2p.txt"));
  return diagnose(given);
}

TEST(NvlinkSigns, are_rates_from_gpu_to_gpu) {
  EXPECT_EQ(diagnosis_of_rates("371.0", "37.0").nvlink.used, Answered::yes);
  EXPECT_EQ(diagnosis_of_rates("21.0", "17.0").nvlink.used, Answered::unknown);
}

TEST(PeerRates, that_are_below_those_through_host_memory_are_redirected) {
  EXPECT_EQ(first_rule(diagnosis_of_rates("1.4", "17.0")), "R13");
  EXPECT_TRUE(diagnosis_of_rates("21.0", "17.0").findings.empty());
  EXPECT_TRUE(diagnosis_of_rates("14.0", "17.0").findings.empty());
}

TEST(NvlinkSigns, are_errors_of_a_link_and_peers_that_may_not) {
  EXPECT_EQ(diagnosis_of_log("NVRM: Xid (PCI:0000:dc:00): 149, NETIR_LINK_EVT Fatal XC0 i0 Link 04\n")
                .nvlink.present,
            Answered::yes);
  CaseFile given;
  given.files.peers.push_back(parse_peer_test(
      "Device=0 CANNOT Access Peer Device=1\nDevice=1 CANNOT Access Peer Device=0\n", "p2p.txt"));
  EXPECT_EQ(diagnose(given).nvlink.present, Answered::no);
}

}  // namespace
}  // namespace gradwire
