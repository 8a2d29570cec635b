// Where on the processor a training loop is, read off the names that PyTorch gives: steps, the next batch,
// backward, the optimizer; and what ran, sorted by these. Pure functions of a profile.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string_view>
#include <vector>

#include "explain/intervals.h"
#include "import/profile.h"

namespace gradwire {

struct HostStep {
  Interval window;
  int number = 0;
};

enum class StepsFrom : std::uint8_t { profiler, optimizer, whole_trace, record };
std::string_view to_string(StepsFrom);  // "ProfilerStep", "Optimizer.step", "the whole trace", "recorded"

struct Landmarks {
  std::vector<HostStep> steps;  // in order; never empty
  StepsFrom steps_from = StepsFrom::whole_trace;
  // Where nothing marks the begin of the first step: what ran before is set-up, which is no step's.
  bool first_left_out = false;                            // all that came before the first end of a step
  Nanoseconds gpu_begins = INT64_MIN;                     // of the first step on the GPU, at the earliest
  Intervals input;                                        // some thread waits for the next batch
  std::map<std::int32_t, Intervals> backward, optimizer;  // by lane
  Intervals any_backward, any_optimizer;                  // the same on whichever lane
  std::optional<std::int32_t> main_lane;                  // the thread that runs the loop
};

Landmarks find_landmarks(const Profile&);

enum class LoopPart : std::uint8_t { forward, backward, optimizer, other };

// Which step, and which part of the loop, a moment on the processor belongs to. Borrows the landmarks.
class LoopPlaces {
 public:
  explicit LoopPlaces(const Landmarks&);

  // The step whose window on the processor holds a moment, or the one before it; -1 before all.
  int step_of(Nanoseconds moment) const;

  // What was launched when the last step had ended belongs to one that is not marked: the file is cut off, or the
  // program went on to something else.
  bool is_after_all(Nanoseconds moment) const;

  LoopPart part_of(std::int32_t lane, Nanoseconds moment) const;
  LoopPart part_of(
      Nanoseconds moment) const;  // of what no known call started: by what the loop did just then

 private:
  const Landmarks& marks_;
  const std::vector<Nanoseconds> last_backward_;  // of each step
};

// Longer than what Python takes between two operators: reading files, decoding, logging, saving.
constexpr Nanoseconds kLongPause = 2'000'000;

struct PlacedWork {
  Intervals forward, backward, optimizer, other;  // computing
  Intervals communication, copies, synchronising;
  Intervals copies_in;     // of copies: from the host to the GPU
  Intervals quiet;         // no thread launched anything, and the GPU starved, for kLongPause or more
  Intervals before_batch;  // of quiet: until the first launch of a forward
  Intervals queued;        // something was launched and had not begun
  Nanoseconds before_end = INT64_MIN;  // when the GPU was done with what was launched before the first step
  std::vector<Nanoseconds> step_ends;  // of each step, when the GPU was done with it; 0: it had nothing
};

PlacedWork place_gpu_work(const Profile&, const Landmarks&);
PlacedWork place_host_work(const Profile&, const Landmarks&);

// How a training loop uses DistributedDataParallel, counted in its trace: how often it synchronises, in which
// pieces, and what it does besides. A pure function of a profile.
struct LoopHabits {
  int optimizer_steps = 0;     // of all optimizers
  int forwards = 0;            // of DistributedDataParallel
  int synced_forwards = 0;     // of these, followed by an all-reduce before the next one
  int searches = 0;            // for unused parameters
  Seconds searching = 0;       // in all of them
  Seconds bucketing = 0;       // copying gradients into buckets and back
  bool reducer = false;        // DistributedDataParallel's own operators are there
  int broadcasts = 0;          // that were called
  int forward_broadcasts = 0;  // of these, inside of a forward of DistributedDataParallel
  int buffered = 0;            // forwards that begin with a broadcast of buffers
  Seconds buffering = 0;  // in all of them, until the model's first operator: gathering, sending, handing out
  bool sync_batch_norm = false;
};

LoopHabits loop_habits(const Profile&);

}  // namespace gradwire
