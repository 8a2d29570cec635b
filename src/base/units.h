// Numbers people write and read: bytes as "64K" or "1.5 MiB", times as "12.3 us", rates as GB/s.
// A suffix K, M, G, T is a power of 1024, as nccl-tests reads it; KB, MB, GB are powers of 1000.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

using Rank = int;
using Bytes = std::uint64_t;
using Seconds = double;

inline constexpr double kTera = 1e12, kGiga = 1e9, kMega = 1e6, kMicro = 1e-6;

constexpr std::size_t round_up(std::size_t value, std::size_t step) {
  return (value + step - 1) / step * step;
}

Bytes parse_bytes(std::string_view text);  // throws ConfigError

// "4,64K,1M" is a list; "8:1M" doubles from 8 to 1 MiB, "8:1M:4" multiplies by 4.
std::vector<Bytes> parse_sizes(std::string_view text);  // throws ConfigError

std::string format_bytes(Bytes bytes);     // "64 KiB"
std::string format_seconds(Seconds time);  // "12.3 us"
std::string format_percent(double share);  // 0.098 is "9.8 %"

// A time as the command line takes it: "30", "2.5s", "500ms", "5m".
Seconds parse_seconds(std::string_view text);  // throws ConfigError

}  // namespace gradwire
