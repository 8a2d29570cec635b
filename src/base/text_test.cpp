#include "base/text.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdint>

namespace gradwire {
namespace {

using testing::ElementsAre;

TEST(Trim, takes_white_space_off_both_ends_only) {
  EXPECT_EQ(trim("  a b\t\r\n"), "a b");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Split, keeps_empty_parts) {
  EXPECT_THAT(split("a,,b", ','), ElementsAre("a", "", "b"));
  EXPECT_THAT(split(",", ','), ElementsAre("", ""));
  EXPECT_THAT(split("", ','), ElementsAre(""));
}

TEST(Join, is_the_inverse_of_split_also_when_parts_are_empty) {
  EXPECT_EQ(join({"a", "", "b"}, ","), "a,,b");
  EXPECT_EQ(join({"", "a"}, ", "), ", a");
  EXPECT_EQ(join({}, ","), "");
}

TEST(FindInteger, takes_the_whole_text_or_nothing) {
  EXPECT_EQ(find_integer<int>("42"), 42);
  EXPECT_EQ(find_integer<int>("-7"), -7);
  for (const char* text : {"", "4 2", "42x", " 42", "+1", "0x10", "1.0"})
    EXPECT_EQ(find_integer<int>(text), std::nullopt) << text;
}

TEST(FindInteger, refuses_what_the_type_cannot_hold) {
  EXPECT_EQ(find_integer<std::uint16_t>("65535"), 65535);
  EXPECT_EQ(find_integer<std::uint16_t>("65536"), std::nullopt);
  EXPECT_EQ(find_integer<std::uint16_t>("-1"), std::nullopt);
}

TEST(Text, lets_nothing_raw_through_to_a_terminal) {
  EXPECT_EQ(printable("plain \xc3\xa4 \xe2\x82\xac"), "plain \xc3\xa4 \xe2\x82\xac");
  EXPECT_EQ(printable("a\x1b[31mb\n\x7f"), "a?[31mb??");
  EXPECT_EQ(printable("\xc2\x9b \xff \xe2\x82"), "?? ? ??");  // C1's CSI, no UTF-8, cut off
}

}  // namespace
}  // namespace gradwire
