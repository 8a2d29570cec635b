#include "comm/modules.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>

#include "base/error.h"
#include "base/files.h"
#include "comm/make.h"
#include "net/store/memory.h"
#include "support/error_of.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

std::string error_without_modules(const std::string& backend) {
  const TempDir empty;
  ::setenv("GRADWIRE_MODULES", empty.path().c_str(), 1);
  World alone;
  alone.store = std::make_shared<MemoryStore>();
  const std::string error = error_of([&] { make_communicator(alone, backend); });
  ::unsetenv("GRADWIRE_MODULES");
  return error;
}

TEST(BackendModules, that_are_not_there_are_named_with_what_to_install) {
  EXPECT_THAT(error_without_modules("gloo"), HasSubstr("built without Gloo: apt-get install libgloo-dev"));
  EXPECT_THAT(error_without_modules("mpi"), HasSubstr("built without Open MPI: apt-get install libopenmpi"));
  EXPECT_THAT(error_without_modules("nccl"), HasSubstr("-DNCCL_ROOT="));
  EXPECT_EQ(error_without_modules("shm"), "");
}

TEST(BackendModules, mpi_is_that_of_the_mpirun_which_started_the_process) {
  EXPECT_EQ(mpi_module({}), BackendModule::open_mpi);
  EXPECT_EQ(mpi_module({{"OMPI_COMM_WORLD_RANK", "0"}}), BackendModule::open_mpi);
  EXPECT_EQ(mpi_module({{"PMI_RANK", "0"}, {"PMI_SIZE", "2"}}), BackendModule::mpich);
  EXPECT_EQ(mpi_module({{"PMI_RANK", "0"}, {"OMPI_COMM_WORLD_RANK", "0"}}), BackendModule::open_mpi);
}

TEST(BackendModules, make_communicators_whose_errors_are_caught_by_type) {
  if (std::string(GRADWIRE_MODULES_BUILT).find("gloo") == std::string::npos)
    GTEST_SKIP() << "built without Gloo";
  World alone;
  alone.size = 2;
  alone.timeout = 0.1;
  alone.store = std::make_shared<MemoryStore>();
  EXPECT_THROW(make_communicator(alone, "gloo"), Timeout);
  const auto one = make_communicator(World{}, "gloo");
  EXPECT_THAT(one->name(), HasSubstr("gloo"));
}

}  // namespace
}  // namespace gradwire
