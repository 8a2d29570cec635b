// Fits a calibration to measured times. The logarithm of a predicted time is close to linear in the factors,
// so this is ridge regression repeated around the last answer (Gauss-Newton): every factor is drawn to 0,
// that is to what the class above says, with the strength its class has; neighbouring knots of a ramp are
// drawn together; rows that disagree with everything else count less each time round (Huber's weights).
#pragma once

#include <span>
#include <string>

#include "predict/calibration/calibration.h"

namespace gradwire {

struct FitSample {
  CalibrationClasses classes;
  Seconds latency = 0, transfer = 0;  // what the rules say
  Seconds measured = 0;
  double weight = 1;
  Correction known;  // taken for granted; what is fitted comes on top
  std::string group;
};

Calibration fit(std::span<const FitSample>);

}  // namespace gradwire
