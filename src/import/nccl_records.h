// What NCCL's profiler interface told Gradwire's plugin of one communicator on one rank (base/nccl_records.h): its last
// calls, with what NCCL chose for each and how long the GPU was at it. A value.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "import/communication_names.h"

namespace gradwire {

struct NcclCall {
  std::uint64_t number = 0;    // in the order of this rank
  std::uint64_t sequence = 0;  // in the communicator: equal on all ranks; 0 for send and recv
  SaidCollective collective;
  Bytes bytes = 0;  // of the larger of input and output on one rank; 0: not known
  std::string algorithm, protocol;
  int channels = 0;
  std::optional<std::int64_t> time_ns;  // on the GPU, waiting for other ranks included
  bool gpu_clock = false;               // else that of the thread of NCCL that looked
};

struct NcclCalls {
  std::string file, host, name;  // of the communicator; empty: it has none
  int interface = 0;
  std::optional<int> rank;
  int ranks = 0, nodes = 0;  // 0: not said
  std::uint64_t communicator = 0;
  std::uint64_t dropped = 0;
  std::vector<NcclCall> calls;  // oldest first
};

bool is_nccl_records(std::string_view head);

// Throws ConfigError with the name in front.
NcclCalls parse_nccl_records(std::string_view bytes, const std::string& name);

}  // namespace gradwire
