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

TEST(Printable, leaves_what_people_read_as_it_is) {
  for (const char* text : {"", "rank 0", "größer, 中文, μs, ≥ 1 🙂", "a\u00a0b"})
    EXPECT_EQ(printable(text), text);
}

TEST(Printable, takes_the_power_from_what_acts_on_a_terminal) {
  EXPECT_EQ(printable("\x1b[31mred\x1b[0m"), "?[31mred?[0m");
  EXPECT_EQ(printable("a\x7f\b\r\x07z"), "a????z");
  EXPECT_EQ(printable("\xc2\x9b"
                      "31m"),
            "?31m")
      << "C1, as UTF-8";
  EXPECT_EQ(printable("\x9b"
                      "31m"),
            "?31m")
      << "C1, as a byte";
  EXPECT_EQ(printable("abc\u202ecba"), "abc?cba");
  EXPECT_EQ(printable("a\nb\tc"), "a?b?c");
  EXPECT_EQ(printable("a\nb\tc\x1b", Lines::keep), "a\nb\tc?");
}

TEST(Printable, marks_every_byte_that_is_no_UTF_8) {
  EXPECT_EQ(printable("\xff\xfe"), "??");
  EXPECT_EQ(printable("\xc3"), "?") << "cut short";
  EXPECT_EQ(printable("\xc0\xaf"), "??") << "longer than needed";
  EXPECT_EQ(printable("\xed\xa0\x80"), "???") << "half a pair";
  EXPECT_EQ(printable("\xf5\x80\x80\x80"), "????") << "beyond the last character";
}

TEST(Wrap, breaks_between_words_and_indents_the_rest) {
  EXPECT_EQ(wrap("one two three four", 9, "  "), "one two\n  three\n  four");
  EXPECT_EQ(wrap("short", 9), "short");
  EXPECT_EQ(wrap("", 9), "");
}

TEST(Wrap, a_word_that_is_too_long_has_a_line_of_its_own) {
  EXPECT_EQ(wrap("a incomprehensible b", 6), "a\nincomprehensible\nb");
}

TEST(Wrap, leaves_a_command_in_backquotes_whole) {
  EXPECT_EQ(wrap("see `a b c` now", 9, "  "), "see\n  `a b c`\n  now");
  EXPECT_EQ(wrap("write `a b c d e f` (or `g h`)", 12), "write\n`a b c d e f`\n(or `g h`)");
  EXPECT_EQ(wrap("a `b c d", 6), "a `b c\nd") << "one that nothing closes is a letter";
}

TEST(Wrap, keeps_columns) { EXPECT_EQ(wrap("a   b  c d", 8, "     "), "a   b  c\n     d"); }

}  // namespace
}  // namespace gradwire
