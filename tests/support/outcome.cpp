#include <gtest/gtest.h>

#include "support/run_ranks.h"

namespace gradwire {

void PrintTo(const Outcome& outcome, std::ostream* out) { *out << describe(outcome); }

void expect_all_ok(const std::vector<Outcome>& outcomes) {
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << describe(outcome);
}

}  // namespace gradwire
