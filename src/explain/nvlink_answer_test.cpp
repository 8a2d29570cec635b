#include <fmt/format.h>
#include <gtest/gtest.h>

#include "explain/log_fixture.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

TEST(NvlinkAnswer, knows_from_the_graph_of_nccl_that_peers_talk_over_pcie_and_that_nvlink_may_cross_nodes) {
  const auto pcie = diagnosis_of_log(
      "h:1:1 [0] NCCL INFO Pattern 4, crossNic 0, nChannels 2, bw 12.0/12.0, type PHB/PIX, sameChannels 1\n"
      "h:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via P2P/CUMEM\n");
  EXPECT_EQ(pcie.nvlink.used, Answered::no);
  const auto rack = diagnosis_of_log("gb:1:1 [0] NCCL INFO Channel 00/0 : 0[0] -> 4[0] via P2P/MNNVL\n");
  EXPECT_EQ(rack.nvlink.used, Answered::yes);
}

TEST(NvlinkAnswer, knows_that_nvlink_is_used_from_matrix_and_log_together) {
  EXPECT_EQ(diagnosis_of_log(kP2p, kPair).nvlink.used, Answered::yes);
  EXPECT_EQ(diagnosis_of_log(kShm, kPair).nvlink.used, Answered::no);
  EXPECT_EQ(diagnosis_of_log(kShm, kPair).nvlink.present, Answered::yes);
  EXPECT_EQ(diagnosis_of_log(kP2p + "n:1:2 [0] NCCL INFO P2P Chunksize set to 524288\n").nvlink.used,
            Answered::yes);
}

TEST(NvlinkAnswer, is_open_where_matrices_are_of_two_machines) {
  CaseFile given;
  given.files.logs.push_back(small_log(kShm));
  given.files.matrices.push_back({"topo.txt", parse_matrix(kPair, "topo.txt")});
  given.files.matrices.push_back(
      {"other.txt", parse_matrix("\tGPU0\tGPU1\nGPU0\t X \tSYS\nGPU1\tSYS\t X \n", "other.txt")});
  const auto answer = diagnose(given).nvlink;
  EXPECT_EQ(answer.present, Answered::unknown);
  EXPECT_TRUE(says(answer.why, "topo.txt shows NVLink and other.txt none")) << answer.why;
}

TEST(NvlinkAnswer, looks_up_the_pairs_of_a_log_in_the_matrix) {
  const std::string matrix =
      "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tSYS\nGPU1\tNV4\t X \tSYS\nGPU2\tSYS\tSYS\t X \n";
  EXPECT_EQ(diagnosis_of_log(kP2p, matrix).nvlink.used, Answered::yes);
  const auto other =
      diagnosis_of_log("n:1:2 [0] NCCL INFO Channel 00/0 : 0[1] -> 1[2] via P2P/CUMEM\n", matrix).nvlink;
  EXPECT_EQ(other.present, Answered::yes);
  EXPECT_EQ(other.used, Answered::no);
  // Containers with a GPU each, both of which say 0: the matrix of the machine has other numbers.
  EXPECT_EQ(
      diagnosis_of_log("n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] via P2P/CUMEM\n", matrix).nvlink.used,
      Answered::unknown);
}

TEST(NvlinkAnswer, reads_the_topology_that_nccl_prints) {
  const auto switched = diagnosis_of_log(kP2p + "n:1:2 [0] NCCL INFO      + NVL[370.8] - NVS/0\n").nvlink;
  EXPECT_EQ(switched.present, Answered::yes);
  EXPECT_EQ(switched.used, Answered::yes);
  const auto pcie =
      diagnosis_of_log(kP2p +
                       "n:1:2 [0] NCCL INFO GPU/2A000 :GPU/2A000 (0/5000.0/LOC) GPU/AB000 (3/10.0/SYS) "
                       "CPU/0 (1/24.0/PHB)\n")
          .nvlink;
  EXPECT_EQ(pcie.present, Answered::no);
  EXPECT_EQ(pcie.used, Answered::no);
}

TEST(NvlinkAnswer, does_not_believe_a_graph_that_nccl_did_not_find) {
  const auto answer =
      diagnosis_of_log(
          kP2p +
          "n:1:2 [0] NCCL INFO Pattern 4, nChannels 2, bw 12.0/12.0, type PHB/PIX, sameChannels 1\n"
          "n:1:2 [0] NCCL INFO Pattern 5, nChannels 0, bw 0.0/0.0, type NVL/PIX, sameChannels 1\n")
          .nvlink;
  EXPECT_EQ(answer.used, Answered::no);
}

TEST(NvlinkAnswer, knows_that_two_gpus_with_the_chunk_of_pcie_have_no_nvlink) {
  const std::string chunk = "n:1:2 [0] NCCL INFO P2P Chunksize set to 131072\n";
  const std::string ranks =
      "n:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks {} nNodes 1 localRanks 2 localRank 0 MNNVL 0\n";
  EXPECT_EQ(diagnosis_of_log(kP2p + chunk + fmt::format(fmt::runtime(ranks), 2)).nvlink.used, Answered::no);
  EXPECT_EQ(diagnosis_of_log(kP2p + chunk + fmt::format(fmt::runtime(ranks), 4)).nvlink.used,
            Answered::unknown);  // some pairs may have it
}

TEST(NvlinkAnswer, knows_that_pcie_has_no_room_for_twelve_channels) {
  const auto used = [](const std::string& lines) { return diagnosis_of_log(kP2p + lines).nvlink.used; };
  EXPECT_EQ(used("n:1:2 [0] NCCL INFO 12 coll channels, 16 p2p channels, 16 p2p channels per peer\n"),
            Answered::yes);
  EXPECT_EQ(used("n:1:2 [0] NCCL INFO 4 coll channels, 4 p2p channels, 2 p2p channels per peer\n"),
            Answered::unknown);
  EXPECT_EQ(used("n:1:2 [0] NCCL INFO NCCL_MIN_NCHANNELS set by environment to 16.\n"
                 "n:1:2 [0] NCCL INFO 16 coll channels, 16 p2p channels, 16 p2p channels per peer\n"),
            Answered::unknown);
}

TEST(NvlinkAnswer, is_no_for_a_gpu_that_talks_to_nobody_near) {
  EXPECT_EQ(
      diagnosis_of_log("n:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 1 cudaDev 0 busId 1000 - Init COMPLETE\n")
          .nvlink.used,
      Answered::no);
  EXPECT_EQ(diagnosis_of_log(
                "n:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"
                "n:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[0] [send] via NET/IB/0/GDRDMA\n")
                .nvlink.used,
            Answered::no);
}

TEST(NvlinkAnswer, takes_no_chunk_size_for_proof_that_a_variable_or_the_network_chose) {
  const std::string chunk = "n:1:2 [0] NCCL INFO P2P Chunksize set to 524288\n";
  EXPECT_EQ(diagnosis_of_log(kOneNode + kP2p + chunk).nvlink.used, Answered::yes);
  EXPECT_EQ(diagnosis_of_log(kTwoNodes + kP2p + chunk).nvlink.used, Answered::unknown);
  EXPECT_EQ(diagnosis_of_log(kOneNode + kP2p + chunk +
                             "n:1:2 [0] NCCL INFO NCCL_P2P_PCI_CHUNKSIZE set by environment to 524288.\n")
                .nvlink.used,
            Answered::unknown);
}

TEST(NvlinkAnswer, knows_rccl_by_more_than_its_version) {
  EXPECT_EQ(diagnosis_of_log("g:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to XGMI\n"
                             "g:1:2 [0] NCCL INFO initialized internal alternative rsmi functionality\n" +
                             kP2p)
                .nvlink.used,
            Answered::no);
}

TEST(NvlinkAnswer, knows_amds_gpus_in_a_trace_that_does_not_name_them) {
  SampleTrace trace;
  trace.distributed(0, 2).gpus(2, "").step(0, 0, 1000).kernel(10, 900);
  trace.host("cuda_runtime", "hipLaunchKernel", 5, 2);
  CaseFile given;
  given.files.profiles.push_back(trace.profile());
  EXPECT_EQ(diagnose(given).nvlink.used, Answered::no);
}

TEST(NvlinkAnswer, says_of_amds_gpus_no_more_than_what_the_report_has) {
  const auto why = [](const std::string& rows) {
    CaseFile given;
    given.files.link_types.push_back(parse_link_types("== Link Type between two GPUs ==\n" + rows, "topo"));
    return diagnose(given).nvlink.why;
  };
  EXPECT_EQ(why("GPU0 0\n"), "this is one GPU of AMD, which has no NVLink, and no other is seen");
  EXPECT_EQ(why("GPU0 0 N/A\nGPU1 N/A 0\n"),
            "these are 2 GPUs of AMD, which have no NVLink; what joins them the report does not say");
  EXPECT_EQ(why("GPU0 0 PCIE\nGPU1 PCIE 0\n"),
            "these are 2 GPUs of AMD, which have no NVLink; they are joined by PCIe alone");
}

TEST(NvlinkAnswer, is_no_on_a_machine_without_a_gpu_and_says_so) {
  CaseFile given;
  given.files.no_gpu = "there is no NVIDIA GPU on this machine (NVML is not installed)";
  const auto diagnosis = diagnose(given);
  EXPECT_EQ(diagnosis.nvlink.present, Answered::no);
  EXPECT_EQ(diagnosis.no_gpu, given.files.no_gpu);
}

TEST(NvlinkAnswer, is_no_where_a_variable_keeps_gpus_apart_and_nothing_shows_otherwise) {
  CaseFile given;
  given.files.environments.push_back(parse_environment("NCCL_P2P_DISABLE=1\n", "env.txt"));
  const auto told = diagnose(given).nvlink;
  EXPECT_EQ(told.present, Answered::unknown);
  EXPECT_EQ(told.used, Answered::no);
  EXPECT_TRUE(says(told.why, "NCCL_P2P_DISABLE=1 (env.txt)")) << told.why;
  given.files.matrices.push_back({"topo.txt", parse_matrix(kPair, "topo.txt")});
  EXPECT_EQ(diagnose(given).nvlink.present, Answered::yes);
  EXPECT_EQ(diagnose(given).nvlink.used, Answered::no);
  given.files.logs.push_back(small_log(kP2p));  // of a run: it shows what was
  EXPECT_EQ(diagnose(given).nvlink.used, Answered::yes);
  CaseFile script;
  script.files.scripts.push_back(parse_script("export NCCL_P2P_LEVEL=LOC\n", "run.sh"));
  EXPECT_EQ(diagnose(script).nvlink.used, Answered::no);
}

TEST(NvlinkAnswer, takes_a_list_of_names_for_no_more_than_that) {
  const auto answer = [](const std::string& name, const std::string& command) {
    const std::string text =
        command + "GPU 0: " + name + " (UUID: GPU-1)\nGPU 1: " + name + " (UUID: GPU-2)\n";
    CaseFile given;
    given.files.nvlinks.push_back(parse_nvlink_status(text, "gpus.txt"));
    const auto diagnosis = diagnose(given);
    EXPECT_TRUE(diagnosis.findings.empty()) << name;
    return diagnosis.nvlink.present;
  };
  EXPECT_EQ(answer("NVIDIA GeForce RTX 4090", ""), Answered::no);  // has no connector
  EXPECT_EQ(answer("NVIDIA H100 80GB HBM3", ""), Answered::unknown);
  EXPECT_EQ(answer("NVIDIA GeForce RTX 3090", ""), Answered::unknown);
  EXPECT_EQ(answer("NVIDIA GeForce RTX 3090", "$ nvidia-smi nvlink -s\n"), Answered::no);
}

}  // namespace
}  // namespace gradwire
