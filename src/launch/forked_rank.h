// A function that runs as a rank in a process forked from this one; owned as child_process.h says.
//
// Fork from a process with one thread: whatever other threads hold at that moment, locks above all, stays
// held in the child for ever. Belongs to one thread.
#pragma once

#include <functional>
#include <optional>

#include "base/fd.h"
#include "launch/child_process.h"
#include "launch/outcome.h"

namespace gradwire {

class ForkedRank {
 public:
  // The child calls the function, tells its outcome, and ends without running what the parent registered for
  // its own exit.
  ForkedRank(Rank rank, const std::function<Outcome()>& function);

  Rank rank() const { return rank_; }
  int descriptor() const { return process_->descriptor(); }
  // What became of it, once it has ended.
  std::optional<Outcome> find_outcome();
  // The signal that has stopped it, if it is stopped now.
  std::optional<int> find_stop() { return process_->find_stop(); }
  void signal(int number) const { process_->signal(number); }

 private:
  Outcome read_outcome(int wait_status) const;

  const Rank rank_;
  Fd report_;
  std::optional<ChildProcess> process_;
  std::optional<Outcome> outcome_;
};

}  // namespace gradwire
