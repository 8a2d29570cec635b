#include "report/terminal.h"

#include <gtest/gtest.h>

namespace gradwire {
namespace {

Curves curves_of(std::vector<Series> series, std::string title = "") {
  Curves curves;
  curves.title = std::move(title);
  curves.series = std::move(series);
  return curves;
}

TEST(Chart, draws_a_straight_line_in_logarithmic_axes) {
  const Series line{"line", {{1, 1}, {10, 10}, {100, 100}}};
  EXPECT_EQ(draw_curves(curves_of({line}, "t"), 17, 7),
            "t\n"
            "       100 |    *\n"
            "        10 |  *  \n"
            "         1 |*    \n"
            "           +-----\n"
            "            1 100\n"
            "            * line\n");
}

TEST(Chart, puts_the_first_series_on_top_where_two_meet) {
  const auto text = draw_curves(curves_of({{"a", {{1, 1}}}, {"b", {{1, 1}}}}), 17, 5);
  EXPECT_NE(text.find("*"), std::string::npos);
  EXPECT_EQ(text.find("o", 0), text.find("o b"));
}

TEST(Chart, draws_nothing_when_no_point_has_a_logarithm) {
  EXPECT_EQ(draw_curves(curves_of({{"zero", {{0, 1}, {1, 0}}}})), "");
  EXPECT_EQ(draw_curves({}), "");
}

TEST(Bars, are_drawn_in_one_scale_with_ends_that_add_up) {
  const StackedBars chart{.parts = {{"F", "forward"}, {"B", "backward"}, {".", "other", false}},
                          .bars = {{"one", "7 ms", {2, 4, 1}}, {"two", "3 ms", {1, 1.6, 0.4}}},
                          .name_width = 3};
  EXPECT_EQ(draw_bars(chart, 18),
            "one  FFBBBB. 7 ms\n"
            "two  FBB 3 ms\n"
            "F forward  B backward\n");
}

TEST(Bars, of_nothing_are_empty) {
  EXPECT_EQ(draw_bars({.parts = {{"F", "forward", false}}, .bars = {{"", "", {0}}}, .name_width = 0}), "\n");
}

}  // namespace
}  // namespace gradwire
