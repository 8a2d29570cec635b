// Where on the processor a training loop is, read off the names that PyTorch gives: steps, the next batch,
// backward, the optimizer; and what ran, sorted by these. Pure functions of a profile.
#pragma once

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
  Intervals input;                                        // some thread waits for the next batch
  std::map<std::int32_t, Intervals> backward, optimizer;  // by lane
  Intervals any_backward, any_optimizer;                  // the same on whichever lane
  std::optional<std::int32_t> main_lane;                  // the thread that runs the loop
};

Landmarks find_landmarks(const Profile&);

// Longer than what Python takes between two operators: reading files, decoding, logging, saving.
constexpr Nanoseconds kLongPause = 2'000'000;

struct PlacedWork {
  Intervals forward, backward, optimizer, other;  // computing
  Intervals communication, copies, synchronising;
  Intervals copies_in;                 // of copies: from the host to the GPU
  Intervals quiet;                     // no thread ran an operator for kLongPause or more
  Intervals queued;                    // something was launched and had not begun
  std::vector<Nanoseconds> step_ends;  // of each step, when the GPU was done with it; 0: it had nothing
};

PlacedWork place_gpu_work(const Profile&, const Landmarks&);
PlacedWork place_host_work(const Profile&, const Landmarks&);

// How a training loop uses DistributedDataParallel, counted in its trace: how often it synchronises, in which
// pieces, and what it does besides. A pure function of a profile.
struct LoopHabits {
  int optimizer_steps = 0;  // of all optimizers
  int forwards = 0;         // of DistributedDataParallel
  int synced_forwards = 0;  // of these, followed by an all-reduce before the next one
  int searches = 0;         // for unused parameters
  Seconds searching = 0;    // in all of them
  Seconds bucketing = 0;    // copying gradients into buckets and back
  int buffered = 0;         // forwards that begin with a broadcast of buffers
  Seconds buffering = 0;  // in all of them, until the model's first operator: gathering, sending, handing out
  bool sync_batch_norm = false;
};

LoopHabits loop_habits(const Profile&);

}  // namespace gradwire
