#include "launch/roster.h"

#include <gtest/gtest.h>

#include "base/error.h"

namespace gradwire {
namespace {

TEST(NodeRoster, is_read_as_it_was_written) {
  const NodeRoster roster{{{0, 2, "1f09.1"}, {3, 1, "22aa.3"}}};
  EXPECT_EQ(roster.text(), "0:2:1f09.1 3:1:22aa.3");
  EXPECT_EQ(NodeRoster::parse(roster.text()).entries, roster.entries);
  EXPECT_EQ(roster.ranks(), 3);
  EXPECT_EQ(roster.find(3)->token, "22aa.3");
  EXPECT_EQ(roster.find(1), nullptr);
  EXPECT_EQ(describe(roster), "nodes 0 (2 ranks), 3 (1 rank)");
}

TEST(NodeRoster, that_is_none_is_refused) {
  for (const char* text : {"", "x", "0", "0:2", "0:x:1", "0:0:1", "0:2:a 1", "0:2:a:b"})
    EXPECT_THROW(NodeRoster::parse(text), TransportError) << text;
  EXPECT_FALSE(NodeRoster::parse_ready(1, ""));
}

}  // namespace
}  // namespace gradwire
