// What ran, sorted by the part of the training loop it belongs to: the step between a profile and its
// breakdown. Sets of moments.
#pragma once

#include <vector>

#include "explain/landmarks.h"

namespace gradwire {

// Longer than what Python takes between two operators: reading files, decoding, logging, saving.
constexpr Nanoseconds kLongPause = 2'000'000;

struct PlacedWork {
  Intervals forward, backward, optimizer, other;  // computing
  Intervals communication, copies, synchronising;
  Intervals copies_in;                 // of copies: from the host to the GPU
  Intervals quiet;                     // no thread ran an operator for kLongPause or more
  std::vector<Nanoseconds> step_ends;  // of each step, when the GPU was done with it; 0: it had nothing
};

PlacedWork place_gpu_work(const Profile&, const Landmarks&);
PlacedWork place_host_work(const Profile&, const Landmarks&);

}  // namespace gradwire
