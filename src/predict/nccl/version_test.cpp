#include "predict/nccl/version.h"

#include <gtest/gtest.h>

#include "base/error.h"
#include "predict/nccl/all_reduce.h"
#include "topo/import/machine_file.h"

namespace gradwire {
namespace {

constexpr Bytes kBigBuffer = Bytes{256} << 20;

AllReduceEstimate priced(const std::string& machine, const std::map<std::string, std::string>& environment,
                         Bytes bytes = kBigBuffer) {
  return NcclModel(find_machine(machine), default_calibration(), nccl_settings(environment))
      .all_reduce(bytes);
}

bool is_obeyed(const std::string& machine, const std::map<std::string, std::string>& environment) {
  return can_obey(find_machine(machine), nccl_settings(environment), Collective::all_reduce);
}

TEST(NcclLists, leave_what_they_name_or_all_but_that) {
  const Seconds ring = priced("dgx-h100", {{"NCCL_ALGO", "Ring"}}).time;
  EXPECT_LT(priced("dgx-h100", {}).time, 0.9 * ring) << "NVLS";
  for (const char* list :
       {"^NVLS", "^nvls,nvlstree", "Ring,Tree", "allreduce:ring", "AllReduce:^NVLS;broadcast:ring"})
    EXPECT_DOUBLE_EQ(priced("dgx-h100", {{"NCCL_ALGO", list}}).time, ring) << list;
  EXPECT_EQ(priced("dgx-h100", {{"NCCL_ALGO", "broadcast:ring"}}).algorithm, "NVLS");
}

TEST(NcclLists, choose_protocols_too) {
  EXPECT_EQ(priced("2x-rtx3090-pcie", {}, 1024).protocol, "LL");
  EXPECT_EQ(priced("2x-rtx3090-pcie", {{"NCCL_PROTO", "^LL"}}, 1024).protocol, "Simple");
  EXPECT_EQ(priced("dgx-a100", {{"NCCL_PROTO", "LL,LL128"}}).protocol, "LL128");
}

TEST(NcclLists, that_leave_nothing_are_known_and_do_not_count) {
  EXPECT_FALSE(is_obeyed("dgx-a100", {{"NCCL_ALGO", "NVLS"}}));
  EXPECT_FALSE(is_obeyed("2x-rtx3090-pcie", {{"NCCL_PROTO", "LL128"}}));
  EXPECT_FALSE(is_obeyed("dgx-h100", {{"NCCL_ALGO", "CollnetDirect"}}));
  EXPECT_TRUE(is_obeyed("dgx-h100", {{"NCCL_ALGO", "NVLS"}}));
  EXPECT_DOUBLE_EQ(priced("dgx-a100", {{"NCCL_ALGO", "NVLS"}}).time, priced("dgx-a100", {}).time);
  EXPECT_EQ(priced("dgx-h100", {{"NCCL_ALGO", "CollnetDirect"}}).algorithm, "Ring");
}

TEST(NcclLists, with_names_that_nccl_does_not_have_are_refused) {
  EXPECT_THROW(nccl_settings({{"NCCL_ALGO", "allreduce:foo"}}), ConfigError);
  EXPECT_THROW(nccl_settings({{"NCCL_ALGO", "sum:ring"}}), ConfigError);
  EXPECT_EQ(nccl_settings({{"NCCL_ALGO", ""}, {"NCCL_P2P_LEVEL", " "}}), NcclSettings{})
      << "empty ones say nothing";
}

TEST(NcclChannels, are_no_more_than_the_environment_allows) {
  EXPECT_EQ(priced("2x-rtx3090-pcie", {{"NCCL_MAX_NCHANNELS", "1"}}).channels, 1);
  EXPECT_EQ(priced("2*1x-a100-pcie@hdr", {{"NCCL_MAX_NCHANNELS", "1"}}).channels, 1);
}

TEST(NcclVersion, is_said_by_the_settings_or_by_the_machine) {
  Machine machine = find_machine("4x-a40-pcie");
  EXPECT_EQ(version_of(machine, {}), 228) << "what PyTorch brings";
  EXPECT_EQ(version_of_record(machine), 218);
  machine.node.nccl = 226;
  EXPECT_EQ(version_of(machine, {}), 226);
  EXPECT_EQ(version_of(machine, nccl_settings({{"NCCL_VERSION", "2.21.5-1+cuda12"}})), 221);
  EXPECT_EQ(version_of_record(find_machine("4x-rtx5090-pcie")), 225) << "the first that knows them";
}

TEST(NcclVersion, of_a_machine_stands_in_its_file) {
  const std::string box = "gpu: a40\ngpus: 4\nintra: pcie\n";
  const auto path = [](const std::string& yaml) {
    return path_name(way_of(nccl_fabric(build_machine(parse_machines(yaml, "box.yaml")[0].node))));
  };
  EXPECT_EQ(path(box), "host memory");
  EXPECT_EQ(path(box + "nccl: 2.22\n"), "PCIe peer to peer");
  EXPECT_EQ(path(box + "nccl: 2.9\n"), "PCIe peer to peer");
  EXPECT_THROW(parse_machines(box + "nccl: new\n", "box.yaml"), ConfigError);
}

TEST(NcclVersion, that_nobody_states_is_looked_at_where_another_would_do_otherwise) {
  const auto other = find_other_version(find_machine("4x-a40-pcie"), {});
  ASSERT_TRUE(other);
  EXPECT_EQ(other->taken, 228);
  EXPECT_EQ(other->before(), 222);
  for (const char* same : {"2x-a40-pcie", "dgx-a100", "2x-h100-pcie-pcie", "4x-rtx5090-pcie"})
    EXPECT_FALSE(find_other_version(find_machine(same), {})) << same;
  EXPECT_FALSE(find_other_version(find_machine("4x-a40-pcie"), nccl_settings({{"NCCL_VERSION", "2.26"}})));
}

}  // namespace
}  // namespace gradwire
