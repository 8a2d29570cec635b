#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

const std::string kSocket = "b:1:2 [0] NCCL INFO Channel 00/0 : 8[0] -> 0[0] [receive] via NET/Socket/0\n";
const std::string kNoneFound = "a:1:2 [0] NCCL INFO NET/IB : No device found.\n";

std::string reached_by(const std::string& host, const std::string& interface) {
  return host + ":1:2 [0] NCCL INFO Bootstrap : Using " + interface + "<0>\n";
}

TEST(Sockets, over_the_loopback_reach_no_other_node) {
  const std::string local = reached_by("a", "[0]lo:127.0.0.1");
  EXPECT_EQ(first_rule(diagnosis_of_log(local + reached_by("b", "[0]lo:127.0.0.1"))), "R36");
  EXPECT_EQ(first_rule(diagnosis_of_log(local)), "");
  EXPECT_EQ(first_rule(diagnosis_of_log(reached_by("a", "eth0:10.0.0.1") + reached_by("b", "eth0:10.0.0.2"))),
            "");
}

TEST(Sockets, on_an_interface_of_infiniband_show_that_its_card_is_not_seen) {
  const auto lost = diagnosis_of_log(reached_by("a", "ibp12s0:10.149.0.13") + kNoneFound + kSocket);
  ASSERT_EQ(first_rule(lost), "R37");
  EXPECT_TRUE(says(lost.findings[0].what, "ibp12s0 is an interface of InfiniBand")) << lost.findings[0].what;
  EXPECT_EQ(first_rule(diagnosis_of_log(reached_by("a", "eth0:10.0.0.1") + kNoneFound + kSocket)), "");
}

TEST(Sockets, where_infiniband_is_asked_for_are_a_hint) {
  const auto asked = diagnosis_of_log("a:1:2 [0] NCCL INFO NCCL_IB_DISABLE set by environment to 0.\n" +
                                      kNoneFound + kSocket);
  EXPECT_TRUE(asked.findings.empty());
  EXPECT_EQ(asked.hints.at(0).rule, "R37");
}

TEST(Sockets, without_libibverbs_say_so) {
  const auto bare =
      diagnosis_of_log("a:1:2 [0] misc/ibvwrap.cc:63 NCCL WARN Failed to open libibverbs.so[.1]\n" + kSocket);
  ASSERT_EQ(bare.hints.size(), 1u);
  EXPECT_TRUE(says(bare.hints[0].what, "libibverbs")) << bare.hints[0].what;
}

TEST(Sockets, are_not_forced_where_another_network_is_set_up) {
  const auto rule = [](const char* more) {
    CaseFile given;
    given.files.environments.push_back(
        parse_environment(std::string("NCCL_IB_DISABLE=1\nSLURM_NNODES=4\n") + more, "env.txt"));
    return first_rule(diagnose(given));
  };
  EXPECT_EQ(rule(""), "R37");
  EXPECT_EQ(rule("FI_PROVIDER=tcp\n"), "R37");
  EXPECT_EQ(rule("FI_PROVIDER=efa\n"), "");
  EXPECT_EQ(rule("LD_LIBRARY_PATH=/opt/amazon/efa/lib\n"), "");
  CaseFile job;
  job.files.scripts.push_back(
      parse_script("#!/bin/bash\n#SBATCH --nodes=4\nexport FI_PROVIDER=\"efa\"\nexport "
                   "NCCL_IB_DISABLE=1\nsrun python a.py\n",
                   "job.sh"));
  EXPECT_EQ(first_rule(diagnose(job)), "");
}

TEST(Containers, of_several_gpus_need_shared_memory) {
  const auto hints = [](const std::string& more) {
    CaseFile given;
    given.files.environments.push_back(
        parse_environment("apiVersion: v1\nspec:\n  limits:\n    nvidia.com/gpu: 4\n" + more, "pod.yaml"));
    return diagnose(given).hints;
  };
  ASSERT_EQ(hints("").size(), 1u);
  EXPECT_EQ(hints("")[0].rule, "R18");
  EXPECT_TRUE(hints("  - mountPath: /dev/shm\n").empty());
}

TEST(Sockets, are_told_before_anything_is_connected) {
  const std::string uses = "a:1:2 [0] NCCL INFO Using network Socket\n";
  const auto nodes =
      diagnosis_of_log(reached_by("a", "eth0:10.0.0.1") + uses + reached_by("b", "eth0:10.0.0.2"));
  EXPECT_TRUE(nodes.findings.empty());
  ASSERT_EQ(nodes.hints.size(), 1u);
  EXPECT_EQ(nodes.hints[0].rule, "R36");
  EXPECT_TRUE(diagnosis_of_log(reached_by("a", "eth0:10.0.0.1") + uses).hints.empty());
}

TEST(Sockets, on_an_interface_of_infiniband_are_a_hint_where_nobody_says_how_many_nodes_there_are) {
  const auto log = [](const char* last) {
    return diagnosis_of_log(std::string("a:7:7 [1] NCCL INFO NET : Using interface ib1:10.9.0.4<0>\na:7:7 "
                                        "[1] NCCL INFO Using internal Network "
                                        "Socket\n") +
                            last);
  };
  const auto unsure = log("a:7:7 [1] NCCL INFO rank 1 nranks 8\n");
  EXPECT_TRUE(unsure.findings.empty());
  EXPECT_EQ(unsure.hints.at(0).rule, "R37");
  EXPECT_EQ(first_rule(log("a:7:7 [1] NCCL INFO Ring 00 : 1 -> 4 [send] via NET/Socket/0\n")), "R37");
  EXPECT_EQ(log("a:7:7 [1] NCCL INFO NCCL_IB_DISABLE set to 1\n").hints.size(), 0u);  // it was asked for
}

}  // namespace
}  // namespace gradwire
