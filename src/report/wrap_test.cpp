#include "report/terminal.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(Wrap, BreaksBetweenWordsAndIndentsTheRest) {
  EXPECT_EQ(wrap("one two three four", 9, "  "), "one two\n  three\n  four");
  EXPECT_EQ(wrap("short", 9), "short");
  EXPECT_EQ(wrap("", 9), "");
}

TEST(Wrap, AWordThatIsTooLongHasALineOfItsOwn) {
  EXPECT_EQ(wrap("a incomprehensible b", 6), "a\nincomprehensible\nb");
}

TEST(Wrap, KeepsColumns) { EXPECT_EQ(wrap("a   b  c d", 8, "     "), "a   b  c\n     d"); }

}  // namespace
}  // namespace gradwire
