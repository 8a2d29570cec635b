#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

Diagnosis diagnosis_of_environment(const std::string& text) {
  CaseFile given;
  given.files.environments.push_back(parse_environment(text, "env.txt"));
  return diagnose(given);
}

std::string hints_of(const Diagnosis& diagnosis) {
  std::string all;
  for (const Finding& hint : diagnosis.hints) all += hint.rule + " " + hint.what + "\n";
  return all;
}

TEST(DoctorOnVariables, finds_those_that_make_the_processor_wait) {
  EXPECT_EQ(first_rule(diagnosis_of_environment("CUDA_LAUNCH_BLOCKING=1\n")), "R41");
  EXPECT_EQ(first_rule(diagnosis_of_environment("TORCH_DISTRIBUTED_DEBUG=DETAIL\n")), "R41");
  for (const char* healthy :
       {"CUDA_LAUNCH_BLOCKING=0\n", "TORCH_DISTRIBUTED_DEBUG=OFF\n", "NCCL_SHM_DISABLE=0\n",
        "NCCL_NVLS_ENABLE=1\n", "NCCL_PXN_DISABLE=0\n", "NCCL_SOCKET_IFNAME=eth0\n",
        "NCCL_SOCKET_IFNAME=^docker0,lo\n", "NCCL_NET_GDR_LEVEL=SYS\n"}) {
    const auto diagnosis = diagnosis_of_environment(healthy);
    EXPECT_TRUE(diagnosis.findings.empty() && diagnosis.hints.empty()) << healthy;
  }
}

TEST(DoctorOnVariables, minds_an_interface_that_leads_nowhere_by_how_many_nodes_there_are) {
  for (const char* name :
       {"NCCL_SOCKET_IFNAME=lo\n", "NCCL_SOCKET_IFNAME=docker0\n", "GLOO_SOCKET_IFNAME=lo\n"}) {
    EXPECT_TRUE(says(hints_of(diagnosis_of_environment(name)), "reaches no other node")) << name;
    EXPECT_EQ(first_rule(diagnosis_of_environment(std::string(name) + "SLURM_NNODES=2\n")), "R36") << name;
    EXPECT_EQ(hints_of(diagnosis_of_environment(std::string(name) + "SLURM_NNODES=1\n")), "") << name;
  }
}

TEST(DoctorOnVariables, hints_at_what_keeps_nccl_from_a_way_it_may_need) {
  EXPECT_TRUE(says(hints_of(diagnosis_of_environment("NCCL_SHM_DISABLE=1\n")), "R06 NCCL_SHM_DISABLE"));
  EXPECT_TRUE(says(hints_of(diagnosis_of_environment("NCCL_NVLS_ENABLE=0\n")), "R11 NCCL_NVLS_ENABLE"));
  EXPECT_TRUE(says(hints_of(diagnosis_of_environment("NCCL_PXN_DISABLE=1\n")), "R40 NCCL_PXN_DISABLE"));
  EXPECT_EQ(diagnosis_of_environment("NCCL_SHM_DISABLE=1\nNCCL_P2P_DISABLE=1\n").findings.size(), 2u);
}

TEST(DoctorOnVariables, judges_a_log_by_the_same_table) {
  const std::string off = "n:1:2 [0] NCCL INFO NCCL_PXN_DISABLE set by environment to 1.\n";
  EXPECT_TRUE(says(hints_of(diagnosis_of_log(kTwoNodes + off)), "R40 NCCL_PXN_DISABLE"));
  EXPECT_EQ(hints_of(diagnosis_of_log(kOneNode + off)), "");
  const std::string shm = "n:1:2 [0] NCCL INFO NCCL_SHM_DISABLE set by environment to 1.\n";
  EXPECT_EQ(hints_of(diagnosis_of_log(kOneNode + shm + kP2p)), "");  // all reach each other: nothing was lost
}

TEST(DoctorOnVariables, takes_those_that_no_log_shows_from_the_environment_beside_it) {
  CaseFile given;
  given.files.logs.push_back(small_log(kOneNode + kP2p + "n:1:2 [0] NCCL INFO NCCL_DEBUG set to INFO\n"));
  given.files.environments.push_back(
      parse_environment("CUDA_LAUNCH_BLOCKING=1\nNCCL_P2P_DISABLE=1\n", "env.txt"));
  const auto diagnosis = diagnose(given);
  ASSERT_EQ(diagnosis.findings.size(), 1u);
  EXPECT_EQ(diagnosis.findings[0].rule, "R41");
}

}  // namespace
}  // namespace gradwire
