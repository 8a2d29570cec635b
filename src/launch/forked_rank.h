// A function that runs as a rank in a process forked from this one. The object owns that process: when it
// goes, the process and all others of its group are killed and reaped. The process also dies with the thread
// that forked it.
//
// Fork from a process with one thread: whatever other threads hold at that moment, locks above all, stays
// held in the child for ever. Belongs to one thread.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <functional>
#include <optional>

#include "base/fd.h"
#include "launch/outcome.h"

namespace gradwire {

class ForkedRank {
 public:
  // The child calls the function, tells its outcome, and ends without running what the parent registered for
  // its own exit.
  ForkedRank(Rank rank, const std::function<Outcome()>& function);
  ~ForkedRank();
  ForkedRank(const ForkedRank&) = delete;
  ForkedRank& operator=(const ForkedRank&) = delete;

  Rank rank() const { return rank_; }
  // Becomes readable for poll() when the process has ended.
  int descriptor() const { return process_.get(); }
  // What became of it, once it has ended.
  std::optional<Outcome> find_outcome();
  // The signal that has stopped it, if it is stopped now.
  std::optional<int> find_stop();
  void signal(int number) const;  // to it and the processes of its group

 private:
  [[noreturn]] static void run_child(const std::function<Outcome()>& function, int report);
  std::optional<siginfo_t> has_changed(int how) const;
  Outcome read_outcome(int wait_status) const;

  const Rank rank_;
  pid_t pid_ = -1;
  Fd process_, report_;
  std::optional<Outcome> outcome_;
  std::optional<int> stop_;
};

}  // namespace gradwire
