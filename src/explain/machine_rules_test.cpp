#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

TEST(DoctorOnMachines, finds_a_fabric_that_is_not_set_up) {
  const auto rule = [](const std::string& state) {
    CaseFile given;
    given.files.pci.push_back(
        parse_smi_query("GPU 00000000:18:00.0\n    Fabric\n        State      : " + state + "\n", "q.txt"));
    return first_rule(diagnose(given));
  };
  EXPECT_EQ(rule("In Progress"), "R20");
  EXPECT_EQ(rule("Completed"), "");
  EXPECT_EQ(rule("Completed\n        Status     : Success"), "");
  EXPECT_EQ(rule("Completed\n        Status     : Insufficient Resources"), "R20");
  EXPECT_EQ(rule("N/A"), "");
}

PciReport::Device busy_gpu(int gen, int width) {
  PciReport::Device device;
  device.slot = "GPU 2";
  device.gpu = true;
  device.width_now = width;
  device.gen_now = gen;
  device.width_most = 16;
  device.gen_most = 4;
  device.busy_percent = 97;
  return device;
}

std::string rule_of_device(const PciReport::Device& device) {
  CaseFile given;
  given.files.pci.push_back({.file = "q.txt", .devices = {device}});
  return first_rule(diagnose(given));
}

TEST(DoctorOnMachines, finds_slots_that_are_slow_while_a_gpu_computes) {
  EXPECT_EQ(rule_of_device(busy_gpu(1, 16)), "R15");
  EXPECT_EQ(rule_of_device(busy_gpu(4, 8)), "R15");
  EXPECT_EQ(rule_of_device(busy_gpu(4, 16)), "");
  PciReport::Device idle = busy_gpu(1, 16);
  idle.busy_percent = 0;
  EXPECT_EQ(rule_of_device(idle), "");
}

TEST(DoctorOnMachines, finds_gpus_that_the_hardware_slows_down) {
  PciReport::Device slow = busy_gpu(4, 16);
  slow.slowed = "HW Slowdown, HW Power Brake Slowdown";
  EXPECT_EQ(rule_of_device(slow), "R35");
}

TEST(DoctorOnMachines, finds_peers_that_may_not_and_hints_where_the_make_never_may) {
  const auto diagnosis = [](const std::string& gpu) {
    CaseFile given;
    given.files.peers.push_back(
        parse_peer_test("Device: 0, " + gpu +
                            ", pciBusID: 1b\nDevice=0 CANNOT Access Peer Device=1\nDevice=1 CANNOT "
                            "Access Peer Device=0\n",
                        "p2p.txt"));
    return diagnose(given);
  };
  EXPECT_EQ(first_rule(diagnosis("NVIDIA A40")), "R12");
  EXPECT_EQ(first_rule(diagnosis("NVIDIA GeForce RTX 4090")), "");
  EXPECT_EQ(diagnosis("NVIDIA GeForce RTX 4090").hints.at(0).rule, "R12");
}

TEST(DoctorOnMachines, finds_rates_that_fall_at_the_largest_sizes) {
  const auto rule = [](std::initializer_list<const char*> rates) {
    std::string text;
    long bytes = 1 << 22;
    for (const char* rate : rates)
      text += std::to_string(bytes *= 2) + " 4 float sum -1 9.1 " + rate + " " + rate + " 0 9.1 " + rate +
              " " + rate + " 0\n";
    CaseFile given;
    given.files.tables.push_back(parse_nccl_tests(text, "tests.txt"));
    return first_rule(diagnose(given));
  };
  EXPECT_EQ(rule({"16.2", "24.1", "29.5", "5.3", "5.2", "5.3"}), "R11");
  EXPECT_EQ(rule({"16.2", "24.1", "29.5", "25.3", "24.2", "22.3"}), "");
  EXPECT_EQ(rule({"16.2", "2.1", "2.5", "25.3", "24.2", "22.3"}), "");  // it recovers
}

TEST(DoctorOnMachines, hints_that_ranks_of_a_sweep_were_alone) {
  CaseFile given;
  given.files.tables.push_back(
      parse_nccl_tests("134217728 4 float sum -1 357.6 375.31 0.00 0 0.35 383479 0.00 0\n", "tests.txt"));
  const auto alone = diagnose(given);
  EXPECT_TRUE(alone.findings.empty());
  ASSERT_EQ(alone.hints.size(), 1u);
  EXPECT_TRUE(says(alone.hints[0].fix, "MPI=1"));
}

TEST(DoctorOnMachines, reads_the_fabric_alone) {
  const std::string waits = "    Fabric\n        State      : In Progress\n        Status     : N/A\n--\n";
  const std::string ready = "    Fabric\n        State      : Completed\n        Status     : Success\n--\n";
  ASSERT_TRUE(looks_like_smi_query(ready + waits));
  CaseFile given;
  given.files.pci.push_back(parse_smi_query(ready + waits, "fabric.txt"));
  EXPECT_EQ(given.files.pci[0].devices.size(), 2u);
  const auto diagnosis = diagnose(given);
  ASSERT_EQ(first_rule(diagnosis), "R20");
  EXPECT_TRUE(says(diagnosis.findings[0].what, "1 of 2 GPUs"));
  EXPECT_FALSE(looks_like_smi_query("The Fabric\nis slow.\n"));
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

TEST(DoctorOnMachines, hints_at_redirected_peers_where_a_list_does_not_say_whose) {
  const auto hints = [](const std::string& text) {
    CaseFile given;
    given.files.pci.push_back(parse_lspci(text, "acs.txt"));
    EXPECT_TRUE(diagnose(given).findings.empty());
    return diagnose(given).hints.size();
  };
  EXPECT_EQ(hints("\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir+ CmpltRedir+ UpstreamFwd+ EgressCtrl-\n"), 1u);
  EXPECT_EQ(hints("\t\tACSCtl:\tSrcValid+ TransBlk- ReqRedir- CmpltRedir- UpstreamFwd- EgressCtrl-\n"), 0u);
}

TEST(DoctorOnMachines, hints_at_a_sweep_that_came_to_nothing) {
  CaseFile given;
  given.files.tables.push_back({});
  EXPECT_TRUE(diagnose(given).hints.empty());  // no sweep that anybody asked for
  given.files.tables[0].asked = 1 << 20;
  EXPECT_EQ(diagnose(given).hints.size(), 1u);
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

TEST(DoctorOnMachines, only_hints_at_what_gpus_do_not_have_by_make_unless_a_matrix_shows_it) {
  CaseFile given;
  given.files.peers.push_back(parse_peer_status("\tGPU0\tGPU1\n GPU0\tX\tNS\n GPU1\tGNS\tX\n", "p2p.txt"));
  EXPECT_EQ(first_rule(diagnose(given)), "");
  EXPECT_EQ(diagnose(given).hints.size(), 1u);
  given.files.matrices.push_back({"topo.txt", parse_matrix(kPair, "topo.txt")});
  EXPECT_EQ(first_rule(diagnose(given)), "R12");
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
