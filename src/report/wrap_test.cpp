#include "report/terminal.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(Wrap, breaks_between_words_and_indents_the_rest) {
  EXPECT_EQ(wrap("one two three four", 9, "  "), "one two\n  three\n  four");
  EXPECT_EQ(wrap("short", 9), "short");
  EXPECT_EQ(wrap("", 9), "");
}

TEST(Wrap, a_word_that_is_too_long_has_a_line_of_its_own) {
  EXPECT_EQ(wrap("a incomprehensible b", 6), "a\nincomprehensible\nb");
}

TEST(Wrap, keeps_columns) { EXPECT_EQ(wrap("a   b  c d", 8, "     "), "a   b  c\n     d"); }

}  // namespace
}  // namespace gradwire
