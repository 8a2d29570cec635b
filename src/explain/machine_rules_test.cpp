#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

TEST(DoctorOnMachines, finds_a_gpu_with_a_link_down) {
  CaseFile given;
  given.files.matrices.push_back(
      {"topo.txt",
       parse_matrix(
           "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV18\tNV17\nGPU1\tNV18\t X \tNV17\nGPU2\tNV17\tNV17\t X \n",
           "topo.txt")});
  const auto diagnosis = diagnose(given);
  ASSERT_EQ(first_rule(diagnosis), "R10");
  EXPECT_TRUE(diagnosis.findings[0].what.starts_with("GPU2 has fewer")) << diagnosis.findings[0].what;
}

TEST(DoctorOnMachines, leaves_hybrid_meshes_and_bridged_pairs_alone) {
  CaseFile given;
  given.files.matrices.push_back(
      {"a", parse_matrix(
                "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV1\tNV2\nGPU1\tNV1\t X \tNV2\nGPU2\tNV2\tNV2\t X \n", "a")});
  given.files.matrices.push_back(
      {"b", parse_matrix(
                "\tGPU0\tGPU1\tGPU2\nGPU0\t X \tNV4\tSYS\nGPU1\tNV4\t X \tSYS\nGPU2\tSYS\tSYS\t X \n", "b")});
  const auto diagnosis = diagnose(given);
  EXPECT_TRUE(diagnosis.findings.empty());
  EXPECT_FALSE(diagnosis.hints.empty());
}

NvlinkReport links_of(const char* name, int active, int inactive) {
  NvlinkReport report{.file = "nvlink.txt", .gpus = {}};
  report.gpus.push_back({.index = 0, .name = name, .active = active, .inactive = inactive, .line = 1});
  return report;
}

Diagnosis diagnosis_of_links(std::vector<NvlinkReport> reports) {
  CaseFile given;
  given.files.nvlinks = std::move(reports);
  return diagnose(given);
}

TEST(DoctorOnMachines, tells_a_missing_bridge_from_a_board_whose_nvlinks_are_dark) {
  const auto none = diagnosis_of_links({links_of("NVIDIA RTX A6000", 0, 4)});
  EXPECT_EQ(first_rule(none), "");
  EXPECT_EQ(none.nvlink.present, Answered::no);
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("NVIDIA RTX A6000", 3, 1)})), "R10");
  EXPECT_EQ(first_rule(
                diagnosis_of_links({links_of("NVIDIA RTX A6000", 4, 0), links_of("NVIDIA RTX A6000", 0, 4)})),
            "");
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("NVIDIA H100 80GB HBM3", 0, 18)})), "R10");
}

TEST(DoctorOnMachines, finds_a_fabric_that_is_not_set_up) {
  const auto rule = [](const std::string& state) {
    CaseFile given;
    given.files.pci.push_back(
        parse_smi_query("GPU 00000000:18:00.0\n    Fabric\n        State      : " + state + "\n", "q.txt"));
    return first_rule(diagnose(given));
  };
  EXPECT_EQ(rule("In Progress"), "R20");
  EXPECT_EQ(rule("Completed"), "");
  EXPECT_EQ(rule("N/A"), "");
}

TEST(DoctorOnMachines, finds_redirected_peers_where_there_are_two_gpus_and_bridges_above_them) {
  const auto rule = [](int gpus, const char* buses) {
    std::string text = std::string("00:01.1 PCI bridge: AMD Root Port\n\tBus: primary=00, ") + buses +
                       "\n\t\tACSCtl:\tSrcValid+ ReqRedir+ CmpltRedir+ UpstreamFwd+\n";
    for (int i = 0; i < gpus; ++i)
      text += "6" + std::to_string(5 + i) + ":00.0 3D controller: NVIDIA Corporation GA102\n";
    CaseFile given;
    given.files.pci.push_back(parse_lspci(text, "lspci.txt"));
    return first_rule(diagnose(given));
  };
  EXPECT_EQ(rule(2, "secondary=60, subordinate=6f"), "R13");
  EXPECT_EQ(rule(1, "secondary=60, subordinate=6f"), "");
  EXPECT_EQ(rule(2, "secondary=01, subordinate=01"), "");  // a disk's
}

TEST(DoctorOnMachines, finds_who_may_not_reach_whom) {
  const auto rule = [](const std::string& cell) {
    CaseFile given;
    given.files.peers.push_back(
        parse_peer_status("\tGPU0\tGPU1\n GPU0\tX\t" + cell + "\n GPU1\t" + cell + "\tX\n", "p2p.txt"));
    return first_rule(diagnose(given));
  };
  EXPECT_EQ(rule("OK"), "");
  EXPECT_EQ(rule("CNS"), "R12");
}

TEST(DoctorOnMachines, does_not_miss_links_that_lead_nowhere) {
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("NVIDIA H100 NVL", 12, 6)})), "");
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("NVIDIA H100 PCIe", 8, 10)})), "R10");
  NvlinkReport mesh = links_of("Tesla V100-SXM2-16GB", 4, 2);  // half of eight in a virtual machine
  mesh.gpus.push_back(mesh.gpus[0]);
  EXPECT_EQ(first_rule(diagnosis_of_links({mesh})), "");
  mesh.gpus[1].active = 5;
  EXPECT_EQ(first_rule(diagnosis_of_links({mesh})), "R10");
}

TEST(DoctorOnMachines, hints_at_gpus_of_different_make) {
  const auto hints = [](const std::string& second) {
    CaseFile given;
    given.files.pci.push_back(
        parse_smi_query("GPU 00000000:18:00.0\n    Product Name : NVIDIA RTX A6000\nGPU 00000000:19:00.0\n"
                        "    Product Name : " +
                            second + "\n",
                        "q.txt"));
    return diagnose(given).hints.size();
  };
  EXPECT_EQ(hints("NVIDIA GeForce RTX 2080 Ti"), 1u);
  EXPECT_EQ(hints("NVIDIA RTX A6000"), 0u);
}

}  // namespace
}  // namespace gradwire
