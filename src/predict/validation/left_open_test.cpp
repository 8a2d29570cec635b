#include <gtest/gtest.h>

#include <cmath>

#include "predict/nccl/predictor.h"
#include "predict/validation/collectives.h"

namespace gradwire {
namespace {

ValidationPoint off_by(const std::string& machine, MachineClass machines, double spreads) {
  ValidationPoint point;
  point.platform = machine, point.machines = machines;
  point.bytes = Bytes{1} << 20;
  point.predicted = 1, point.measured = std::exp(spreads * kEightOfTen);
  return point;
}

// Nine machines and one more outside: eight of ten are eight of the nine. The first has a hundred rows, and counts once.
TEST(Ranges, are_chosen_by_machines_and_not_by_points) {
  std::vector<ValidationPoint> points(100, off_by("0", MachineClass::pcie, 0));
  for (int machine = 1; machine < 9; ++machine)
    points.push_back(off_by(std::to_string(machine), MachineClass::pcie, 0.1 * machine));
  EXPECT_NEAR(left_open(points).at(MachineClass::pcie).from_1mb, 0.7, 1e-9);
}

TEST(Ranges, of_a_class_with_few_machines_lean_on_classes_like_it) {
  std::vector<ValidationPoint> points = {off_by("a", MachineClass::staged_network, 0.01)};
  for (int machine = 0; machine < 9; ++machine)
    points.push_back(off_by(std::to_string(machine), MachineClass::network, 0.5));
  EXPECT_NEAR(left_open(points).at(MachineClass::staged_network).from_1mb, 0.5, 1e-9);
  points.push_back(off_by("far", MachineClass::pcie, 3));
  EXPECT_NEAR(left_open(points).at(MachineClass::staged_network).from_1mb, 0.5, 1e-9)
      << "what one node does inside says nothing";
}

}  // namespace
}  // namespace gradwire
