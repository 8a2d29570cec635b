// What the ranks of a parallel run compute when nobody keeps them waiting: communicators that, while they rehearse, send
// nothing and take down what they would have sent (RehearsedCall of trace/timeline.h). So each rank does its part of every step alone, at its
// own pace, and predict/step/replay.h can tell how long the step is over any wires.
//
//   Rehearsal rehearsal;
//   auto group = rehearsal.among(make_communicator(part), "tp-0-1");   // may be used for real, to set up
//   const Rehearsal::Quiet quiet(rehearsal, &recorder);                // from here on it is quiet
//
// A quiet call answers as if every rank had what this one has: gathered is its own share as often as there are ranks, a sum
// stays its own addend, and what would be received is zero. Values stay of a size that real ones have, so that
// computing with them takes as long; they mean nothing. Ranks share no memory, so that sharded units are gathered: which of these
// gathers shared memory would not need is taken down with them.
//
// Belongs to the thread that trains, as do its communicators.
#pragma once

#include <algorithm>
#include <deque>
#include <memory>
#include <string>

#include "comm/communicator.h"
#include "trace/recorder.h"

namespace gradwire {

class Rehearsal {
 public:
  // `group` is the same on all ranks of the communicator, and no other's. The rehearsal outlives what it gives.
  std::unique_ptr<Communicator> among(std::unique_ptr<Communicator> real, std::string group);

  // While it lives calls are quiet; null: they are real.
  class Quiet {
   public:
    Quiet(Rehearsal& rehearsal, Recorder* trace) : rehearsal_(rehearsal) { rehearsal_.trace_ = trace; }
    ~Quiet() { rehearsal_.trace_ = nullptr; }
    Quiet(const Quiet&) = delete;
    Quiet& operator=(const Quiet&) = delete;

   private:
    Rehearsal& rehearsal_;
  };

  Recorder* trace() const { return trace_; }
  // The same for as long as the rehearsal lives.
  const RehearsedCall& keep(const RehearsedCall& call) {
    const auto found = std::find(calls_.begin(), calls_.end(), call);
    return found == calls_.end() ? calls_.emplace_back(call) : *found;
  }

 private:
  Recorder* trace_ = nullptr;
  std::deque<RehearsedCall> calls_;  // what recorders point to
};

}  // namespace gradwire
