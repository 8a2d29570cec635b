// What a real mpirun sets is enough for its processes to join a world. Built for those that are installed.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "base/files.h"
#include "base/text.h"
#include "net/address/socket.h"
#include "support/session.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::HasSubstr;

class Mpirun : public testing::TestWithParam<std::string> {};

TEST_P(Mpirun, brings_ranks_together) {
  const TempDir home;
  Environment extra = {{"HOME", home.path().string()},
                       {"OMPI_ALLOW_RUN_AS_ROOT", "1"},
                       {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"},
                       {"OMPI_MCA_rmaps_base_oversubscribe", "1"}};
  // MPICH tells no number of the job that a port could be drawn from.
  if (GetParam().find("mpich") != std::string::npos)
    extra["MASTER_PORT"] = std::to_string(local_address(listen_at(SocketAddress::loopback()).get()).port());
  Session run({GetParam(), "-n", "2", GRADWIRE_TEST_RANK, "meet"}, extra);
  EXPECT_EQ(run.finish(), 0) << run.text();
  EXPECT_THAT(run.text(),
              AllOf(HasSubstr("met 0 of 2, locally 0 of 2"), HasSubstr("met 1 of 2, locally 1 of 2")));
}

std::vector<std::string> installed() {
  std::vector<std::string> programs;
  for (const auto program : split(GRADWIRE_MPIRUNS, ',')) programs.emplace_back(program);
  return programs;
}

INSTANTIATE_TEST_SUITE_P(Installed, Mpirun, testing::ValuesIn(installed()));

}  // namespace
}  // namespace gradwire
