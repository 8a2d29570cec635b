#include <fmt/format.h>

#include <cmath>
#include <utility>

#include "base/units.h"

namespace gradwire {

std::string format_bytes(Bytes bytes) {
  static constexpr const char* kUnits[] = {"B", "KiB", "MiB", "GiB", "TiB"};
  double value = static_cast<double>(bytes);
  int unit = 0;
  // From 1023.95 on it would be printed as 1024.0 of the smaller unit.
  while (value >= (unit == 0 ? 1024 : 1023.95) && unit < 4) value /= 1024, ++unit;
  return value == std::floor(value) ? fmt::format("{:.0f} {}", value, kUnits[unit])
                                    : fmt::format("{:.1f} {}", value, kUnits[unit]);
}

std::string format_percent(double share) { return fmt::format("{:.1f} %", 100 * share); }

std::string format_seconds(Seconds time) {
  const double magnitude = std::abs(time);
  const auto [scale, unit] = magnitude >= 1      ? std::pair{1.0, "s"}
                             : magnitude >= 1e-3 ? std::pair{1e3, "ms"}
                             : magnitude >= 1e-6 ? std::pair{1e6, "us"}
                                                 : std::pair{1e9, "ns"};
  // Three digits, but never 1e+03.
  return magnitude * scale >= 999.5 ? fmt::format("{:.0f} {}", time * scale, unit)
                                    : fmt::format("{:.3g} {}", time * scale, unit);
}

}  // namespace gradwire
