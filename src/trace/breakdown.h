// Where the time of a training step went. Pure functions of a timeline.
//
// Every moment of a step on a rank belongs to exactly one part of its length: if the compute lane waits for
// communication, or is idle while a bucket is on its way, the moment is comm_exposed; else it is what the
// compute lane does (optimizer before backward before forward before data where spans overlap); else it is
// other. So those parts add up to the step. comm_overlapped is the time in which a bucket is on its way and
// the compute lane is busy: it hides under the other parts and is not added.
//
// A step begins with the first span of its number on its rank and ends where the next step begins, the last
// one with its last span.
#pragma once

#include <optional>
#include <vector>

#include "trace/timeline.h"

namespace gradwire {

struct Breakdown {
  Seconds data = 0, forward = 0, backward = 0, comm_overlapped = 0, comm_exposed = 0, optimizer = 0,
          other = 0;
  Seconds step() const { return data + forward + backward + comm_exposed + optimizer + other; }
  // Of the time in which communication was under way or waited for, what hid under computation; 1 when there
  // was none.
  double hidden_share() const;
  bool operator==(const Breakdown&) const = default;
};

struct StepParts {
  Rank rank = 0;
  int step = 0;
  Breakdown parts;
};

// Every step of every rank, by rank and step.
std::vector<StepParts> step_parts(const Timeline&);

// A typical step. Its length is the median over all given; its parts are the means over the half whose
// lengths are nearest the median, scaled to that length, so that one disturbed step does not decide what is
// shown. Nothing when there is no step.
std::optional<Breakdown> median_step(const std::vector<StepParts>&);

// median_step of all steps on all ranks but each rank's first, which warms up, where there are others. Throws
// ConfigError when the timeline has no step.
Breakdown breakdown(const Timeline&);

}  // namespace gradwire
