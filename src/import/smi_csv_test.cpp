#include <gtest/gtest.h>

#include "import/file_kind.h"
#include "import/machine_reports.h"

namespace gradwire {
namespace {

const std::string kRows = "0, NVIDIA A40, 4, 4, 16, 16, 98 %\n1, NVIDIA A40, 1, 4, 8, 16, 97 %\n";
const std::string kAsked =
    "nvidia-smi --query-gpu=index,name,pcie.link.gen.current,pcie.link.gen.max,pcie.link.width.current,"
    "pcie.link.width.max,utilization.gpu --format=csv,noheader\n";

TEST(SmiCsv, is_read_by_its_heading_or_by_the_command) {
  const std::string heading =
      "index, name, pcie.link.gen.current, pcie.link.gen.max, pcie.link.width.current, pcie.link.width.max, "
      "utilization.gpu [%]\n";
  for (const std::string& above : {heading, "$ " + kAsked, kAsked + heading}) {
    EXPECT_EQ(kind_of(above + kRows), FileKind::smi_query);
    const auto report = parse_smi_csv(above + kRows, "q.csv");
    ASSERT_EQ(report.devices.size(), 2u);
    EXPECT_EQ(report.devices[1].slot, "GPU 1");
    EXPECT_EQ(report.devices[1].product, "NVIDIA A40");
    EXPECT_EQ(report.devices[1].width_now, 8);
    EXPECT_EQ(report.devices[1].gen_most, 4);
    EXPECT_EQ(report.devices[1].busy_percent, 97);
  }
  EXPECT_FALSE(looks_like_smi_csv(kAsked));  // a script that asks
}

TEST(SmiCsv, says_which_gpus_are_slowed_down) {
  const auto report = parse_smi_csv(
      "name, clocks_event_reasons.hw_slowdown, clocks_event_reasons.sw_power_cap\nA, Active, Active\n"
      "A, Not Active, Active\n",
      "q.csv");
  ASSERT_EQ(report.devices.size(), 2u);
  EXPECT_EQ(report.devices[0].slowed, "hw_slowdown");
  EXPECT_EQ(report.devices[1].slowed, "");
}

TEST(SmiQuery, says_which_gpus_are_slowed_down) {
  const auto slowed = [](const char* heading, const char* word) {
    return parse_smi_query("==============NVSMI LOG==============\nGPU 00000000:07:00.0\n    " +
                               std::string(heading) + "\n        Idle : Not Active\n        HW Slowdown : " +
                               word + "\n        SW Power Cap : Active\n",
                           "q")
        .devices.at(0)
        .slowed;
  };
  EXPECT_EQ(slowed("Clocks Event Reasons", "Active"), "HW Slowdown");
  EXPECT_EQ(slowed("Clocks Throttle Reasons", "Active"), "HW Slowdown");
  EXPECT_EQ(slowed("Clocks Event Reasons", "Not Active"), "");
  EXPECT_EQ(slowed("Clocks Event Reasons Counters", "0 us"), "");
}

TEST(PeerTests, of_cudas_samples_say_who_may_reach_whom) {
  const std::string bandwidth =
      "Device: 0, NVIDIA GeForce RTX 3090, pciBusID: 1b, pciDeviceID: 0\nDevice=0 CANNOT Access Peer "
      "Device=1\nDevice=1 CANNOT Access Peer Device=0\n";
  EXPECT_EQ(kind_of(bandwidth), FileKind::peer_status);
  const auto report = parse_peer_test(bandwidth, "p2p.txt");
  EXPECT_EQ(report.gpus, 2);
  EXPECT_EQ(report.gpu, "NVIDIA GeForce RTX 3090");
  ASSERT_EQ(report.refusals.size(), 2u);
  EXPECT_EQ(report.refusals[0].to, "GPU1");
  const auto query = parse_peer_test(
      "> Peer access from NVIDIA A40 (GPU0) -> NVIDIA A40 (GPU1) : No\n"
      "> Peer access from NVIDIA A40 (GPU1) -> NVIDIA A40 (GPU0) : Yes\n",
      "q");
  EXPECT_EQ(query.gpu, "NVIDIA A40");
  ASSERT_EQ(query.refusals.size(), 1u);
  EXPECT_EQ(query.refusals[0].from, "GPU0");
}

TEST(PeerTests, of_cudas_samples_say_how_fast_peers_are) {
  const std::string rates =
      "Unidirectional P2P=Disabled Bandwidth Matrix (GB/s)\n   D\\D     0      1\n     0 2474.76  37.19\n    "
      " 1  36.36 "
      "2512.44\nUnidirectional P2P=Enabled Bandwidth (P2P Writes) Matrix (GB/s)\n   D\\D     0      1\n     "
      "0 2494.76 "
      "371.02\n     1 370.10 2500.00\nBidirectional P2P=Enabled Bandwidth Matrix (GB/s)\n   D\\D     0      "
      "1\n     0 "
      "2494.76 742.02\n";
  EXPECT_EQ(kind_of(rates), FileKind::peer_status);
  const auto report = parse_peer_test(rates, "p2p.txt");
  EXPECT_EQ(report.gpus, 2);
  EXPECT_TRUE(report.refusals.empty());
  EXPECT_DOUBLE_EQ(report.without_peers_gbps, 37.19);
  EXPECT_DOUBLE_EQ(report.with_peers_gbps, 371.02);
  EXPECT_EQ(report.rates_line, 5);
}

}  // namespace
}  // namespace gradwire
