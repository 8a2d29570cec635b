#include <gtest/gtest.h>

#include <cstdlib>

#include "net/world.h"

namespace gradwire {
namespace {

TEST(HostIdentity, is_the_same_each_time) {
  EXPECT_FALSE(host_identity().empty());
  EXPECT_EQ(host_identity(), host_identity());
}

TEST(HostIdentity, can_be_overridden) {
  ::setenv("GRADWIRE_HOST", "left", 1);
  EXPECT_EQ(host_identity(), "left");
  ::unsetenv("GRADWIRE_HOST");
  EXPECT_NE(host_identity(), "left");
}

}  // namespace
}  // namespace gradwire
