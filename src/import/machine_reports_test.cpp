#include "import/machine_reports.h"

#include <gtest/gtest.h>

#include "import/file_kind.h"

namespace gradwire {
namespace {

TEST(MachineReports, count_nvlinks_and_lanes_and_see_acs) {
  const auto links = parse_nvlink_status(
      "GPU 0: NVIDIA GeForce RTX 3090 (UUID: GPU-1)\n\t Link 0: 14.062 GB/s\n\t Link 1: <inactive>\n\t Link "
      "2: <inactive>\n",
      "n");
  ASSERT_EQ(links.gpus.size(), 1u);
  EXPECT_EQ(links.gpus[0].active, 1);
  EXPECT_EQ(links.gpus[0].inactive, 2);
  EXPECT_EQ(links.gpus[0].line, 3);
  const auto pci = parse_lspci(
      "00:01.1 PCI bridge: AMD Starship Root Port\n\tCapabilities: x\n\t\tACSCtl:\tSrcValid+ TransBlk- "
      "ReqRedir+ CmpltRedir+ UpstreamFwd+\n"
      "65:00.0 VGA compatible controller: NVIDIA Corporation GA102 (rev a1)\n"
      "\t\tLnkCap:\tPort #0, Speed 16GT/s, Width x16, ASPM L1\n\t\tLnkSta:\tSpeed 2.5GT/s (downgraded), "
      "Width x8 (downgraded)\n",
      "p");
  ASSERT_EQ(pci.devices.size(), 2u);
  EXPECT_TRUE(pci.devices[0].redirects);
  EXPECT_TRUE(pci.devices[1].gpu);
  EXPECT_EQ(pci.devices[1].width_now, 8);
  EXPECT_EQ(pci.devices[1].width_most, 16);
}

TEST(MachineReports, read_lanes_from_nvidia_smi_q) {
  const auto report = parse_smi_query(
      "==============NVSMI LOG==============\n\nGPU 00000000:01:00.0\n    Product Name                       "
      "   : NVIDIA GeForce RTX 4090\n"
      "        GPU Link Info\n            PCIe Generation\n                Max                       : 4\n   "
      "             Current                   : 1\n"
      "            Link Width\n                Max                       : 16x\n                Current      "
      "             : 8x\n",
      "q");
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].width_most, 16);
  EXPECT_EQ(report.devices[0].width_now, 8);
}

TEST(MachineReports, read_the_part_that_is_left_of_a_longer_one) {
  const char* const text =
      "        GPU Link Info\n            Link Width\n                Max     : 16x\n                Current "
      ": 4x\n"
      "    Clocks Event Reasons\n        Idle        : Not Active\n        HW Slowdown : Active\n";
  EXPECT_EQ(kind_of(text), FileKind::smi_query);
  const auto report = parse_smi_query(text, "q");
  ASSERT_EQ(report.devices.size(), 1u);
  EXPECT_EQ(report.devices[0].width_now, 4);
  EXPECT_EQ(report.devices[0].slowed, "HW Slowdown");
}

TEST(MachineReports, read_who_may_reach_whom_and_are_told_from_a_matrix) {
  const char* const text =
      "\tGPU0\tGPU1\n GPU0\tX\tGNS\n GPU1\tGNS\tX\n\nLegend:\n\n  X    = Self\n  OK   = Status Ok\n";
  EXPECT_EQ(kind_of(text), FileKind::peer_status);
  const auto report = parse_peer_status(text, "p");
  EXPECT_EQ(report.gpus, 2);
  ASSERT_EQ(report.refusals.size(), 2u);
  EXPECT_EQ(report.refusals[0].to, "GPU1");
  EXPECT_EQ(report.refusals[0].status, "GNS");
  EXPECT_EQ(kind_of("\tGPU0\tGPU1\nGPU0\t X \tNV4\nGPU1\tNV4\t X \n"), FileKind::topo_matrix);
  EXPECT_EQ(
      kind_of(
          "GPU 1: NVIDIA H100 (UUID: GPU-1)\nNVML: Unable to retrieve NVLink information as all links are "
          "inActive\n"),
      FileKind::nvlink_status);
}

}  // namespace
}  // namespace gradwire
