#include "predict/calibration/calibration.h"

#include <algorithm>
#include <cmath>

namespace gradwire {

Correction operator+(Correction a, const Correction& b) {
  a.latency += b.latency;
  a.transfer += b.transfer;
  for (std::size_t i = 0; i < kRampKnots.size(); ++i) a.ramp[i] += b.ramp[i];
  return a;
}

Correction Calibration::find(const CalibrationClasses& classes) const {
  Correction correction;
  if (!classes.machine.empty()) {
    const std::vector<CalibrationClass> machine = {{classes.machine}};
    correction = find({machine, machine, machine, "", ""});
  }
  for (const auto& [name, strength] : classes.latency)
    if (const auto found = latency.find(name); found != latency.end()) correction.latency += found->second;
  for (const auto& [name, strength] : classes.rate)
    if (const auto found = transfer.find(name); found != transfer.end()) correction.transfer += found->second;
  for (const auto& [name, strength] : classes.ramp)
    if (const auto found = ramp.find(name); found != ramp.end())
      for (std::size_t i = 0; i < kRampKnots.size(); ++i) correction.ramp[i] += found->second[i];
  return correction;
}

ExpectedError Calibration::expected_error(const std::string& scope) const {
  for (const std::string& name : {scope, std::string("all")})
    if (const auto found = errors.find(name); found != errors.end()) return found->second;
  return {};
}

RampPlace ramp_place(Seconds latency, Seconds transfer) {
  const double at =
      std::clamp(std::log2(std::max(transfer, 1e-300) / latency), kRampKnots.front(), kRampKnots.back());
  const auto above = std::upper_bound(kRampKnots.begin() + 1, kRampKnots.end() - 1, at);
  const auto index = static_cast<std::size_t>(above - kRampKnots.begin() - 1);
  return {index, (at - kRampKnots[index]) / (kRampKnots[index + 1] - kRampKnots[index])};
}

Seconds corrected_time(Seconds latency, Seconds transfer, const Correction& correction) {
  latency *= std::exp(correction.latency);
  transfer *= std::exp(correction.transfer);
  const auto [index, share] = ramp_place(latency, transfer);
  const double ramp = correction.ramp[index] * (1 - share) + correction.ramp[index + 1] * share;
  return (latency + transfer) * std::exp(ramp);
}

}  // namespace gradwire
