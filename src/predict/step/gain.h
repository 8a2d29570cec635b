// What a link gains, and where that lies: the same computing on two machines' wires. Whatever is not known for sure (how long
// computing takes, how far the collectives of either are off, whether host memory hides them, slots and an NCCL that nobody
// stated) is a doubt, and both steps are solved for the world that each doubt describes. So an end of the range is a gain that a machine can
// have: a link that only adds never costs. `compare` answers with it and `validate` holds it against measured pairs.
#pragma once

#include <cstddef>
#include <vector>

#include "predict/step/range.h"
#include "predict/step/step.h"

namespace gradwire {

// A step, and the wires it has been given.
struct WiredStep {
  StepProblem problem;
  Wires wires;
};

// Both problems have the same computing and the same buckets.
struct WiredPair {
  WiredStep better, worse;
};

struct GainQuestion {
  WiredPair here;
  std::vector<WiredPair> otherwise = {};  // as both may be instead, each a doubt: other slots, another NCCL
  double computing_error = 0;             // relative; 0: computing was measured
  StepConstants constants = default_step_constants();
};

// With the range that holds eight of ten.
Effect link_gain(const GainQuestion&);

// Where that one of them is so.
double gain_otherwise(const GainQuestion&, std::size_t which);

// Collectives take the same way and the same time: then they err alike too.
bool same_way(const Wires&, Seconds communication, const Wires& other, Seconds others);

}  // namespace gradwire
