// Signals as something to wait for instead of something that interrupts: while it lives, the signals it
// watches are blocked in the thread that made it and in threads made later, and come out of next().
#pragma once

#include <csignal>
#include <optional>
#include <vector>

#include "base/fd.h"

namespace gradwire {

class SignalWatch {
 public:
  // Those this process ignores stay ignored: that is how nohup works.
  explicit SignalWatch(const std::vector<int>& signals);
  ~SignalWatch();
  SignalWatch(const SignalWatch&) = delete;
  SignalWatch& operator=(const SignalWatch&) = delete;

  int descriptor() const { return descriptor_.get(); }  // readable when next() has something
  std::optional<int> next();
  // A signal that asks this process to end; others that have come are of no use where no rank runs.
  std::optional<int> find_interruption();

 private:
  sigset_t before_;
  Fd descriptor_;
};

}  // namespace gradwire
