// Deaths whose words nobody knows, by what NCCL warned of before.
#include <gtest/gtest.h>

#include "explain/log_fixture.h"

namespace gradwire {
namespace {

const std::string kStarted = "n:1:2 [0] NCCL INFO Bootstrap : Using eth0:10.0.0.5<0>\n";
const std::string kDied =
    "RuntimeError: NCCL error in: a.cpp:1, unhandled system error, NCCL version 2.21.5\n";

std::string warning(const std::string& source, const std::string& words) {
  return "n:1:2 [0] " + source + " NCCL WARN " + words + "\nn:1:2 [0] NCCL INFO " + source + " -> 2\n";
}

TEST(LastWarning, is_quoted_where_a_run_died_and_nothing_else_says_of_what) {
  const auto odd = diagnosis_of_log(kStarted + warning("misc/strongstream.cc:9", "graph is twisted") + kDied);
  ASSERT_EQ(first_rule(odd), "R00");
  EXPECT_TRUE(says(odd.findings[0].what, "graph is twisted")) << odd.findings[0].what;
  EXPECT_FALSE(says(odd.findings[0].fix, "NCCL_DEBUG=INFO")) << odd.findings[0].fix;
  EXPECT_TRUE(odd.findings[0].ends_the_run);
}

TEST(LastWarning, tells_by_the_part_of_nccl_that_gave_it_where_to_look) {
  const auto rule = [](const char* source, const char* words) {
    return first_rule(diagnosis_of_log(kStarted + warning(source, words) + kDied));
  };
  EXPECT_EQ(rule("graph/xml.cc:332", "Could not find real path of /sys/class/pci_bus/0000:21"), "R19");
  EXPECT_EQ(rule("graph/topo.h:88", "Could not find a node with id 3"), "R19");
  EXPECT_EQ(rule("transport/net_ib.cc:1", "NET/IB : twisted"), "R37");
  EXPECT_EQ(rule("misc/socket.cc:1", "twisted"), "R36");
  EXPECT_EQ(rule("transport/p2p.cc:1", "twisted"), "R12");
  EXPECT_EQ(rule("transport/shm.cc:1", "twisted"), "R18");
}

TEST(LastWarning, means_nothing_where_the_run_goes_on_or_every_machine_gives_it) {
  const auto well = diagnosis_of_log(kStarted + "n:1:2 [0] graph/xml.cc:1 NCCL WARN twisted\n" + kP2p);
  EXPECT_TRUE(well.findings.empty());
  const auto common =
      diagnosis_of_log(kStarted + warning("misc/ibvwrap.cc:63", "Failed to open libibverbs.so[.1]") + kDied);
  ASSERT_EQ(first_rule(common), "R00");
  EXPECT_TRUE(says(common.findings[0].fix, "logs of all other ranks")) << common.findings[0].fix;
}

TEST(LastWarning, is_a_death_where_nccl_itself_gave_up_as_it_started) {
  const auto cut = diagnosis_of_log(kStarted + warning("misc/odd.cc:1", "graph is twisted") +
                                    "n:1:2 [0] NCCL INFO init.cc:834 -> 2\n");
  ASSERT_EQ(first_rule(cut), "R00");
  EXPECT_TRUE(says(cut.findings[0].evidence, "run.log:2: odd.cc:1 graph is twisted"));
}

TEST(LastWarning, of_a_log_of_warnings_alone_is_the_last_before_the_death) {
  const auto told = diagnosis_of_log(
      "n:1:2 [0] misc/odd.cc:1 NCCL WARN first\nn:1:2 [0] misc/odd.cc:2 NCCL WARN "
      "second\n" +
      kDied + "n:1:2 [0] misc/odd.cc:3 NCCL WARN third\n");
  ASSERT_EQ(first_rule(told), "R00");
  EXPECT_TRUE(says(told.findings[0].what, "second")) << told.findings[0].what;
}

TEST(LastWarning, goes_before_what_the_run_would_have_lost) {
  const std::string staged =
      "n:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/RoCE [RO]; OOB eth0:10.0.0.5<0>\n"
      "n:1:2 [0] NCCL INFO Channel 00/0 : 1[0] -> 0[0] [receive] via NET/IB/0\n" +
      kTwoNodes;
  ASSERT_EQ(first_rule(diagnosis_of_log(staged)), "R38");
  EXPECT_EQ(first_rule(diagnosis_of_log(staged + kDied)), "R00");
}

TEST(LastWarning, sends_containers_to_the_network_of_their_host) {
  const std::string refused =
      "n:1:2 [0] misc/socket.cc:483 NCCL WARN socketStartConnect: Connect to 172.17.0.2<4> failed : abort\n";
  const auto docker =
      diagnosis_of_log("n:1:2 [0] NCCL INFO Bootstrap : Using eth0:172.17.0.2<0>\n" + refused);
  ASSERT_EQ(first_rule(docker), "R36");
  EXPECT_TRUE(says(docker.findings[0].fix, "--network=host"));
  EXPECT_FALSE(says(diagnosis_of_log(kStarted + refused).findings.at(0).fix, "--network=host"));
}

}  // namespace
}  // namespace gradwire
