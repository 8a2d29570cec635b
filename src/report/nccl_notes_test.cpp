#include "report/nccl_notes.h"

#include <gmock/gmock.h>

namespace gradwire {
namespace {

using ::testing::Contains;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

std::string unmet_on(const std::string& machine, const std::map<std::string, std::string>& environment) {
  return find_unmet_note(find_machine(machine), nccl_settings(environment)).value_or("");
}

TEST(NcclNotes, say_which_lists_leave_nothing) {
  EXPECT_THAT(unmet_on("dgx-a100", {{"NCCL_ALGO", "NVLS"}}),
              HasSubstr("NCCL_ALGO=NVLS leaves no all_reduce"));
  EXPECT_THAT(unmet_on("2x-rtx3090-pcie", {{"NCCL_PROTO", "LL128"}}),
              HasSubstr("NCCL_PROTO=LL128 leaves no"));
  EXPECT_THAT(unmet_on("dgx-h100", {{"NCCL_ALGO", "CollnetDirect"}}), HasSubstr("Ring or Tree is taken"));
  EXPECT_THAT(unmet_on("dgx-h100", {{"NCCL_ALGO", "NVLS"}}), IsEmpty());
}

TEST(NcclNotes, say_nothing_of_variables_that_change_nothing) {
  EXPECT_FALSE(find_environment_note(nccl_settings({{"NCCL_P2P_DISABLE", "0"}})));
}

TEST(NcclNotes, name_a_version_that_nobody_states_where_another_would_do_otherwise) {
  EXPECT_THAT(
      nccl_notes(find_machine("4x-a40-pcie"), {}),
      Contains(
          "NCCL is taken as 2.28, before 2.23 data went over PCIe peer to peer; --nccl says which it is"));
  for (const char* same : {"2x-a40-pcie", "dgx-a100", "2x-h100-pcie-pcie", "4x-rtx5090-pcie"})
    EXPECT_THAT(nccl_notes(find_machine(same), {}), IsEmpty()) << same;
  EXPECT_THAT(nccl_notes(find_machine("4x-a40-pcie"), nccl_settings({{"NCCL_VERSION", "2.26"}})),
              Contains("NCCL is 2.26, as --nccl or NCCL_VERSION says"));
}

}  // namespace
}  // namespace gradwire
