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

enum class CallState : std::uint8_t {
  unknown,
  scheduled,  // the GPU has not begun it
  started,
  completed,
  failed
};
std::string_view to_string(CallState);

struct RecordedCall {
  std::string group;  // of processes: "default_pg", or its number
  long sequence = 0;  // in its group
  std::string name;   // "nccl:all_reduce"
  CallState state = CallState::unknown;
  std::string sizes;                            // "[[1024]]"
  bool point_to_point = false;                  // not all ranks of the group have it in their sequence
  std::optional<std::uint64_t> bytes = {};      // what goes in, where types and sizes are known
  std::optional<std::int64_t> made_ns = {};     // when it was called, by the clock of its host
  std::optional<std::int64_t> latest_ns = {};   // the latest that is known of it: called, begun or ended
  std::optional<std::int64_t> timeout_ms = {};  // after which PyTorch gives it up, and dumps
  bool has_ended() const { return state == CallState::completed || state == CallState::failed; }
};

struct FlightDump {
  std::string file;
  std::optional<int> rank;          // what it says itself, or the file's name
  std::vector<RecordedCall> calls;  // oldest first
  std::map<std::string, std::vector<int>> members =
      {};  // of the groups it says them of: ranks of the whole run
  std::optional<std::int64_t> written_ns =
      {};  // when the file was, which may be a copy: not before it was dumped
};

// Throws ConfigError with the name in front.
FlightDump parse_flight_dump(std::string_view bytes, const std::string& name);

}  // namespace gradwire
