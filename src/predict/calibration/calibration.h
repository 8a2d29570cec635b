// What measured sweeps add to the rules of the NCCL model: factors on latency and on transfer time by class
// of machine, and a ramp between the two. Classes go from general to particular ("nvlink", "nvlink sm90",
// "machine dgx-a100 1x4 host"); their factors multiply, so a machine nobody measured gets what its class and
// then the general case say. Kept as data in presets/calibration.yaml, with what each class was fitted on. A
// value.
#pragma once

#include <array>
#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace gradwire {

// Where the ramp has its knots: log2(transfer time / latency).
constexpr std::array<double, 12> kRampKnots = {-6, -3, -1.5, 0, 1, 2, 3, 4, 5, 6, 8, 10};
using Ramp = std::array<double, kRampKnots.size()>;

// A class and how strongly it holds to the class above: as many sweeps' rows as it takes to move it half-way.
struct CalibrationClass {
  std::string name;
  double strength = 1;
};

struct CalibrationClasses {  // from general to particular
  std::vector<CalibrationClass> latency, rate, ramp;
  std::string machine;  // the class of this very machine, used where its own sweep was given
  std::string scope;    // the class whose expected error counts
};

// Everything as natural logarithms of factors.
struct Correction {
  double latency = 0, transfer = 0;
  Ramp ramp{};
};

Correction operator+(Correction, const Correction&);  // both factors

// Mean absolute relative error found by cross-validation over platforms.
struct ExpectedError {
  double below_1mb = 0, from_1mb = 0;
};

struct Calibration {
  std::map<std::string, double> latency, transfer;
  std::map<std::string, Ramp> ramp;
  std::map<std::string, std::vector<std::string>> fitted_on;  // class: the groups of records it rests on
  std::map<std::string, ExpectedError> errors;                // by scope; "all" for the rest

  Correction find(const CalibrationClasses&) const;
  ExpectedError expected_error(const std::string& scope) const;
};

// The time of a collective whose parts the rules give, corrected.
Seconds corrected_time(Seconds latency, Seconds transfer, const Correction&);

// Where on the ramp a ratio of transfer time to latency lies: between knot `index` and the next, `share` of
// the way.
struct RampPlace {
  std::size_t index = 0;
  double share = 0;
};
RampPlace ramp_place(Seconds latency, Seconds transfer);

const Calibration& default_calibration();  // presets/calibration.yaml, compiled in
Calibration parse_calibration(std::string_view yaml, std::string_view where);  // throws ConfigError
std::string calibration_yaml(const Calibration&);

}  // namespace gradwire
