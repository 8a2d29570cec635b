#include <gmock/gmock.h>

#include "base/error.h"
#include "comm/nccl/nccl.h"

namespace gradwire {
namespace {

TEST(NoNccl, says_how_to_build_with_it) {
  try {
    make_nccl(World{});
    FAIL() << "made a communicator without NCCL";
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(), testing::HasSubstr("-DNCCL_ROOT="));
  }
}

}  // namespace
}  // namespace gradwire
