// What people measure of a machine's links: tables of rates between devices as p2pBandwidthLatencyTest and
// nvbandwidth print them, and two columns of sizes and times or rates. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"

namespace gradwire {

struct RateTable {
  enum class Between { gpus, host_to_gpu, gpu_to_host };
  std::string title;  // the line above
  Between between = Between::gpus;
  bool both_ways = false;                                // both directions busy; of GPUs the sum of both
  bool staged = false;                                   // peer access off
  std::vector<std::vector<std::optional<double>>> gbps;  // [row][column]; absent: N/A
  int line = 0;
};

// Empty: neither tool printed this.
std::vector<RateTable> parse_rate_tables(std::string_view text);

// Lines of a size (1048576, 1M) and a figure under a header that says of what: us, ms, busbw or algbw (GB/s; plain
// GB/s is busbw, as nccl-tests' last column).
struct SizeTable {
  enum class Of { time_us, busbw_gbps, algbw_gbps };
  Of of = Of::time_us;
  std::vector<std::pair<Bytes, double>> rows;
};

// Throws ConfigError naming `name` where the header or a line is not that.
SizeTable parse_size_table(std::string_view text, const std::string& name);

}  // namespace gradwire
