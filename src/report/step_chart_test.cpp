#include "report/step_chart.h"

#include <gtest/gtest.h>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr Breakdown kStep{.data = 0.001,
                          .forward = 0.020,
                          .backward = 0.040,
                          .comm_overlapped = 0.012,
                          .comm_exposed = 0.004,
                          .optimizer = 0.005,
                          .other = 0};

TEST(StepChart, draws_shares_of_the_bar_that_add_up) {
  // A character for each of the 70 ms: parts end at 1, 21, 61, 65 and 70.
  EXPECT_EQ(stacked_bar(kStep, 70), "DFFFFFFFFFFFFFFFFFFFFBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBXXXXOOOOO");
  EXPECT_EQ(stacked_bar({.forward = 1}, 5), "FFFFF");
  EXPECT_EQ(stacked_bar({}, 5), "");
}

TEST(StepChart, shows_every_part_with_its_share) {
  EXPECT_EQ(draw_step(kStep, {.title = "a step", .width = 74}),
            "a step\n"
            "  [DFFFFFFFFFFFFFFFFFFFFBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBBXXXXOOOOO]\n"
            "  D data                         1.000 ms    1.4 %\n"
            "  F forward                     20.000 ms   28.6 %\n"
            "  B backward                    40.000 ms   57.1 %\n"
            "  X communication exposed        4.000 ms    5.7 %\n"
            "  O optimizer                    5.000 ms    7.1 %\n"
            "  . other                        0.000 ms    0.0 %\n"
            "    step                        70.000 ms  100.0 %\n"
            "    communication hidden        12.000 ms  under the above: 75 % of all of it\n");
}

TEST(StepChart, keeps_to_eighty_columns) {
  const auto text = draw_step(kStep, {.title = "t"});
  for (const auto line : split(text, '\n')) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace gradwire
