#include "report/step_chart.h"

#include <gtest/gtest.h>

#include "base/text.h"
#include "report/render.h"

namespace gradwire {
namespace {

constexpr Breakdown kStep{.data = 0.001,
                          .forward = 0.020,
                          .backward = 0.040,
                          .comm_overlapped = 0.012,
                          .comm_exposed = 0.004,
                          .optimizer = 0.005,
                          .other = 0};

TEST(StepChart, shows_every_part_with_its_share) {
  Report report;
  add_step(report, "a step", kStep);
  const auto text = to_text(report);
  EXPECT_EQ(text.substr(text.find("\n", text.find("  DFF")) + 1),
            "  D  data                    1.000 ms    1.4 %\n"
            "  F  forward                20.000 ms   28.6 %\n"
            "  B  backward               40.000 ms   57.1 %\n"
            "  X  communication exposed   4.000 ms    5.7 %\n"
            "  O  optimizer               5.000 ms    7.1 %\n"
            "  .  other                   0.000 ms    0.0 %\n"
            "     step                   70.000 ms  100.0 %\n"
            "     communication hidden under the above: 12.000 ms, 75 % of all of it\n");
}

TEST(StepChart, shows_what_communication_slows_apart_from_backward) {
  Report report;
  add_slowed_step(report, "a step", kStep, 0.010);
  const auto text = to_text(report);
  EXPECT_EQ(text.substr(text.find("  B  ")),
            "  B  backward               30.000 ms   42.9 %\n"
            "  ~  slowed by collectives  10.000 ms   14.3 %\n"
            "  X  communication exposed   4.000 ms    5.7 %\n"
            "  O  optimizer               5.000 ms    7.1 %\n"
            "  .  other                   0.000 ms    0.0 %\n"
            "     step                   70.000 ms  100.0 %\n");
}

TEST(StepChart, keeps_to_eighty_columns) {
  Report report;
  add_step(report, "t", kStep);
  for (const auto line : split(to_text(report), '\n')) EXPECT_LE(line.size(), 80u) << line;
}

}  // namespace
}  // namespace gradwire
