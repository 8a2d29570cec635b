#include "report/chart.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

TEST(Chart, draws_a_straight_line_in_logarithmic_axes) {
  const Series line{"line", {{1, 1}, {10, 10}, {100, 100}}};
  EXPECT_EQ(draw_chart({line}, {.title = "t", .width = 17, .height = 7}),
            "t\n"
            "       100 |    *\n"
            "        10 |  *  \n"
            "         1 |*    \n"
            "           +-----\n"
            "            1 100\n"
            "            * line\n");
}

TEST(Chart, puts_the_first_series_on_top_where_two_meet) {
  const auto text = draw_chart({{"a", {{1, 1}}}, {"b", {{1, 1}}}}, {.title = "", .width = 17, .height = 5});
  EXPECT_NE(text.find("*"), std::string::npos);
  EXPECT_EQ(text.find("o", 0), text.find("o b"));
}

TEST(Chart, draws_nothing_when_no_point_has_a_logarithm) {
  EXPECT_EQ(draw_chart({{"zero", {{0, 1}, {1, 0}}}}, {}), "");
  EXPECT_EQ(draw_chart({}, {}), "");
}

}  // namespace
}  // namespace gradwire
