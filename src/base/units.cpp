#include "base/units.h"

#include <charconv>
#include <cmath>
#include <limits>
#include <utility>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

// The number at the front of `text` and the unit behind it.
std::pair<double, std::string_view> split_number(std::string_view text, const char* meaning) {
  text = trim(text);
  double value = 0;
  auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || !std::isfinite(value) || value < 0)
    throw ConfigError(fmt::format("'{}' is not {}", text, meaning));
  return {value, trim(text.substr(end - text.data()))};
}

double byte_unit(std::string_view unit, std::string_view whole) {
  static constexpr std::string_view kPrefixes = "KMGT";
  if (unit.empty() || unit == "B") return 1;
  const auto prefix = kPrefixes.find(static_cast<char>(unit[0] & ~0x20));
  const auto rest = unit.substr(1);
  if (prefix != std::string_view::npos) {
    const auto power = static_cast<double>(prefix + 1);
    if (rest.empty() || rest == "iB" || rest == "i") return std::pow(1024, power);
    if (rest == "B") return std::pow(1000, power);
  }
  throw ConfigError(fmt::format("'{}' is not a number of bytes: write 65536, 64K, 1.5M or 2G", whole));
}

double parse_factor(std::string_view text) {
  const auto [value, unit] = split_number(text, "a factor");
  return unit.empty() ? value : 0;
}

std::vector<Bytes> size_range(std::string_view text) {
  constexpr double kLeastFactor = 1.001;  // fewer than 50000 sizes, whatever the ends
  const auto parts = split(text, ':');
  const Bytes first = parse_bytes(parts[0]), last = parse_bytes(parts[1]);
  const double factor = parts.size() > 2 ? parse_factor(parts[2]) : 2;
  if (parts.size() > 3 || first == 0 || last < first || factor < kLeastFactor)
    throw ConfigError(fmt::format(
        "'{}' is not a range of sizes: write FIRST:LAST or FIRST:LAST:FACTOR, as in 8:1M:4", text));
  std::vector<Bytes> sizes;
  for (double size = static_cast<double>(first); size <= static_cast<double>(last); size *= factor) {
    const auto whole = static_cast<Bytes>(size);
    if (sizes.empty() || whole != sizes.back()) sizes.push_back(whole);
  }
  return sizes;
}

}  // namespace

Bytes parse_bytes(std::string_view text) {
  const auto [value, unit] = split_number(text, "a number of bytes: write 65536, 64K, 1.5M or 2G");
  const double bytes = value * byte_unit(unit, text);
  if (bytes > 1e18) throw ConfigError(fmt::format("'{}' is more bytes than any machine holds", text));
  return static_cast<Bytes>(bytes);
}

std::vector<Bytes> parse_sizes(std::string_view text) {
  std::vector<Bytes> sizes;
  for (const auto part : split(text, ',')) {
    if (part.find(':') == std::string_view::npos) {
      sizes.push_back(parse_bytes(part));
      continue;
    }
    const auto range = size_range(part);
    sizes.insert(sizes.end(), range.begin(), range.end());
  }
  return sizes;
}

Seconds parse_seconds(std::string_view text) {
  const auto [value, unit] = split_number(text, "a time: write 30, 2.5s, 500ms or 5m");
  if (unit.empty() || unit == "s") return value;
  if (unit == "ms") return value * 1e-3;
  if (unit == "us") return value * 1e-6;
  if (unit == "m" || unit == "min") return value * 60;
  if (unit == "h") return value * 3600;
  throw ConfigError(fmt::format("'{}' is not a time: write 30, 2.5s, 500ms or 5m", text));
}

}  // namespace gradwire
