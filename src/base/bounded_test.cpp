#include "base/bounded.h"

#include <gtest/gtest.h>

#include <memory>

#include "base/error.h"

namespace gradwire {
namespace {

TEST(FindWithin, gives_what_the_function_gives) {
  EXPECT_EQ(find_within(60, [] { return 7; }), 7);
  EXPECT_THROW(find_within(60, []() -> int { throw ConfigError("no"); }), ConfigError);
}

TEST(FindWithin, leaves_a_function_behind_that_takes_too_long) {
  auto never = std::make_shared<std::promise<int>>();
  EXPECT_EQ(find_within(0.01, [never, waits = never->get_future().share()] { return waits.get(); }),
            std::nullopt);
  never->set_value(0);
}

}  // namespace
}  // namespace gradwire
