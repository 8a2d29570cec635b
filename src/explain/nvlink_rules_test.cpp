#include <gtest/gtest.h>

#include <algorithm>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

TEST(DoctorOnNvlinks, finds_a_gpu_with_a_link_down) {
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

TEST(DoctorOnNvlinks, leaves_hybrid_meshes_and_bridged_pairs_alone) {
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

// Each GPU of a square has NVLink to its neighbours alone.
TEST(DoctorOnNvlinks, hints_at_pairs_only_where_no_ring_goes_by_nvlink_alone) {
  const auto hints = [](const std::string& rows) {
    CaseFile given;
    given.files.matrices.push_back(
        {"topo.txt", parse_matrix("\tGPU0\tGPU1\tGPU2\tGPU3\n" + rows, "topo.txt")});
    return diagnose(given).hints.size();
  };
  EXPECT_EQ(hints("GPU0\t X \tNV2\tSYS\tNV1\nGPU1\tNV2\t X \tNV1\tSYS\n"
                  "GPU2\tSYS\tNV1\t X \tNV2\nGPU3\tNV1\tSYS\tNV2\t X \n"),
            0u);
  EXPECT_EQ(hints("GPU0\t X \tNV2\tSYS\tSYS\nGPU1\tNV2\t X \tNV2\tSYS\n"
                  "GPU2\tSYS\tNV2\t X \tNV2\nGPU3\tSYS\tSYS\tNV2\t X \n"),
            1u);  // a chain
}

NvlinkReport links_of(const char* name, int active, int inactive, int gpus = 1) {
  NvlinkReport report{.file = "nvlink.txt", .gpus = {}};
  for (int i = 0; i < gpus; ++i)
    report.gpus.push_back({.index = i, .name = name, .active = active, .inactive = inactive, .line = i + 1});
  return report;
}

Diagnosis diagnosis_of_links(std::vector<NvlinkReport> reports) {
  CaseFile given;
  given.files.nvlinks = std::move(reports);
  return diagnose(given);
}

TEST(DoctorOnNvlinks, tells_a_missing_bridge_from_a_board_whose_nvlinks_are_dark) {
  const auto none = diagnosis_of_links({links_of("NVIDIA RTX A6000", 0, 4)});
  EXPECT_EQ(first_rule(none), "");
  EXPECT_EQ(none.nvlink.present, Answered::no);
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("NVIDIA RTX A6000", 3, 1)})), "R10");
  EXPECT_EQ(first_rule(
                diagnosis_of_links({links_of("NVIDIA RTX A6000", 4, 0), links_of("NVIDIA RTX A6000", 0, 4)})),
            "");
}

TEST(DoctorOnNvlinks, knows_by_the_catalogue_which_makes_are_soldered_to_nvlink) {
  const auto rule = [](const char* name) {
    return first_rule(diagnosis_of_links({links_of(name, 0, 18, 8)}));
  };
  for (const char* name : {"NVIDIA H100 80GB HBM3", "NVIDIA H200", "NVIDIA B200", "NVIDIA B300 SXM6 AC",
                           "NVIDIA GB200", "NVIDIA A100-SXM-64GB", "Tesla V100-SXM2-16GB"})
    EXPECT_EQ(rule(name), "R10") << name;
  for (const char* name : {"NVIDIA H200 NVL", "NVIDIA H100 NVL", "NVIDIA A100 80GB PCIe", "NVIDIA A40"})
    EXPECT_EQ(rule(name), "") << name;
}

TEST(DoctorOnNvlinks, says_once_what_several_gpus_miss) {
  NvlinkReport report = links_of("NVIDIA RTX A6000", 2, 2, 3);
  report.gpus[1].active = 3;
  report.gpus[1].inactive = 1;
  const auto diagnosis = diagnosis_of_links({report});
  ASSERT_EQ(diagnosis.findings.size(), 2u);
  EXPECT_EQ(diagnosis.findings[0].what, "GPUs 0, 2 have 2 of 4 NVLinks active");
  EXPECT_EQ(diagnosis.findings[1].what, "GPU 1 has 3 of 4 NVLinks active");
}

TEST(DoctorOnNvlinks, expects_no_link_of_a_gpu_that_is_alone) {
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("Tesla V100-SXM2-16GB", 0, 6)})), "");
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("NVIDIA A100-SXM4-40GB", 0, 12)})), "");
}

// All but the last `lost` of them have `count` links to each other.
std::string matrix_of(int gpus, int lost, const char* count) {
  std::string text;
  for (int i = 0; i < gpus; ++i) text += "\tGPU" + std::to_string(i);
  for (int i = 0; i < gpus; ++i) {
    text += "\nGPU" + std::to_string(i);
    for (int j = 0; j < gpus; ++j)
      text += i == j ? "\t X " : std::max(i, j) < gpus - lost ? std::string("\t") + count : "\tSYS";
  }
  return text + "\n";
}

TEST(DoctorOnNvlinks, finds_a_gpu_that_lost_them_all) {
  const auto diagnosis_of = [](int gpus, int lost, const char* count) {
    CaseFile given;
    given.files.matrices.push_back({"topo.txt", parse_matrix(matrix_of(gpus, lost, count), "topo.txt")});
    return diagnose(given);
  };
  const auto switched = diagnosis_of(8, 1, "NV12");
  ASSERT_EQ(first_rule(switched), "R10");
  EXPECT_TRUE(switched.findings[0].what.starts_with("GPU7 has no NVLink")) << switched.findings[0].what;
  EXPECT_TRUE(switched.hints.empty());  // it is not a machine with some bridges
  EXPECT_EQ(first_rule(diagnosis_of(4, 1, "NV4")), "R10");
  EXPECT_EQ(first_rule(diagnosis_of(16, 2, "NV6")), "R10");
  EXPECT_EQ(first_rule(diagnosis_of(5, 1, "NV4")), "");  // a DGX Station and its card for the screen
  EXPECT_EQ(first_rule(diagnosis_of(3, 1, "NV4")), "");  // a bridge, and one card more
  EXPECT_EQ(first_rule(diagnosis_of(8, 4, "NV6")), "");  // four with bridges to each other, four without
  EXPECT_EQ(first_rule(diagnosis_of(4, 1, "NV1")), "");  // some of a mesh of eight P100
}

TEST(DoctorOnNvlinks, does_not_miss_links_that_lead_nowhere) {
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("NVIDIA A800-SXM4-80GB", 8, 4, 8)})), "");
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("NVIDIA A800-SXM4-80GB", 7, 5, 8)})), "R10");
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("Tesla V100-DGXS-32GB", 4, 2, 4)})), "");
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("NVIDIA H100 NVL", 12, 6)})), "");
  EXPECT_EQ(first_rule(diagnosis_of_links({links_of("NVIDIA H100 PCIe", 8, 10)})), "R10");
  NvlinkReport mesh = links_of("Tesla V100-SXM2-16GB", 4, 2);  // half of eight in a virtual machine
  mesh.gpus.push_back(mesh.gpus[0]);
  EXPECT_EQ(first_rule(diagnosis_of_links({mesh})), "");
  mesh.gpus[1].active = 5;
  EXPECT_EQ(first_rule(diagnosis_of_links({mesh})), "R10");
}

}  // namespace
}  // namespace gradwire
