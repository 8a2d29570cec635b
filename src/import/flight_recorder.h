// A dump of PyTorch's flight recorder (pickle or JSON), or the file of Gradwire's own: the last collectives of a rank, each
// with its state. A value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

struct RecordedCall {
  std::string group;                            // of processes: "default_pg", or its number
  long sequence = 0;                            // in its group
  std::string name;                             // "nccl:all_reduce"
  std::string state;                            // "scheduled", "started", "completed"
  std::string sizes;                            // "[[1024]]"
  bool point_to_point = false;                  // not all ranks of the group have it in their sequence
  std::optional<std::uint64_t> bytes = {};      // what goes in, where types and sizes are known
  std::optional<std::int64_t> made_ns = {};     // when it was called, by the clock of its host
  std::optional<std::int64_t> latest_ns = {};   // the latest that is known of it: called, begun or ended
  std::optional<std::int64_t> timeout_ms = {};  // after which PyTorch gives it up, and dumps
};

struct FlightDump {
  std::string file;
  std::optional<int> rank;          // what it says itself, or the file's name
  std::vector<RecordedCall> calls;  // oldest first
  std::map<std::string, std::vector<int>> members =
      {};  // of the groups it says them of: ranks of the whole run
};

// Throws ConfigError with the name in front.
FlightDump parse_flight_dump(std::string_view bytes, const std::string& name);

}  // namespace gradwire
