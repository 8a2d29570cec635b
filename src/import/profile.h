// A profiler's record of one process, as any writer of torch.profiler left it, brought to one form: what ran
// when on the processor and on the GPU, which collective each communication kernel belongs to. A value. Only
// what explains a step is kept; Python frames, flows and instants are not.
//
// Times are nanoseconds on the clock of the process's host, absolute where the writer says so.
#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/units.h"
#include "import/byte_source.h"
#include "import/communication_names.h"

namespace gradwire {

using Nanoseconds = std::int64_t;

enum class ActivityKind : std::uint8_t {
  cpu_op,         // an operator of PyTorch
  annotation,     // a named span that encloses others: ProfilerStep#3, Optimizer.step#SGD.step
  runtime,        // a call into CUDA or HIP
  kernel,         // computing on the GPU
  communication,  // a kernel of NCCL, RCCL or of those that do their work
  copy            // a copy or fill on the GPU
};
inline bool on_gpu(ActivityKind kind) { return kind >= ActivityKind::kernel; }

struct Activity {
  Nanoseconds begin = 0, end = 0;
  std::int64_t correlation = -1;  // equal for a call of the runtime and what it started on the GPU; -1: none
  std::int64_t external = -1;     // of the operator around it; -1: none
  std::int32_t lane = 0;          // index into Profile::lanes
  std::uint32_t name = 0;         // index into Profile::names
  std::int32_t call = -1;         // index into Profile::calls; -1: none
  ActivityKind kind = ActivityKind::cpu_op;
};

// The lowest and the highest of some ranks.
struct RankRange {
  int first = 0, last = 0;
};

// What a collective was asked to do, where the trace says it. Zero and empty: it does not.
struct ProfiledCall {
  SaidCollective collective;
  Bytes bytes = 0;  // of the larger of input and output on one rank
  int ranks = 0;
  std::optional<RankRange> members;  // of the group
  std::string group;                 // its name, or without one who is in it: "[2, 3]"
  bool whole_numbers = false;        // what travels is of a type for counts and indices
  std::int64_t sequence = -1;
  std::int64_t external = -1;
};

// An operator that hands over a gradient or updates parameters, of a trace that was recorded with shapes.
struct SizedOperator {
  Nanoseconds begin = 0, end = 0;
  std::uint32_t name = 0;  // index into Profile::names
  Bytes bytes = 0;         // of its first input: a tensor, or a list of them
};

struct ProfileLane {
  std::int64_t process = 0, thread = 0;  // on the GPU: device and stream
};

struct Profile {
  std::string file;
  std::optional<int> rank, world;
  std::string backend, host, nccl_version;
  std::vector<std::string> gpus;  // the devices the process saw, by model; empty: not said
  std::vector<std::string> names;
  std::vector<ProfileLane> lanes;
  std::vector<ProfiledCall> calls;
  std::vector<Activity> activities;  // by begin
  std::vector<SizedOperator> sized;  // likewise
  std::vector<std::string> notes;    // what is wrong with the file, for people
  std::uint64_t events = 0, broken = 0;
  std::uint64_t bytes = 0;  // of JSON
  bool whole = true;        // false: cut off or damaged, this is what could be read

  std::string_view name_of(const Activity& activity) const { return names[activity.name]; }
};

// Whether two files tell of one machine: 0 is not known.
int gpus_of_node(const Profile&);

// From what ran on the GPU back to the call of the runtime that started it. Borrows the profile.
class Launches {
 public:
  explicit Launches(const Profile&);
  const Activity* find(const Activity& on_gpu) const;  // null: the trace does not say

 private:
  const Profile& profile_;
  std::vector<std::pair<std::int64_t, std::uint32_t>> by_correlation_;  // index into activities
};

// Reads a trace of torch.profiler: Kineto's object, the bare array of builds without Kineto, the Python
// exporter's; plain or gzip; of any version from 1.8 on. One pass, in the memory of what is kept. What is broken is left out and noted. Throws ConfigError with the file's name in front when nothing in it
// is an event.
Profile read_profile(const std::filesystem::path&);
Profile read_profile(ByteSource&, const std::string& name);

}  // namespace gradwire
