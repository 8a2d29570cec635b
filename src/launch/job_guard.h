// Ends what is left of a job when the process that launched it is killed and can't see to it any more: a process of its own
// waits for that, and kills whoever carries the job's mark in the environment. Belongs to one thread; others may run beside it.
#pragma once

#include <sys/types.h>

#include <string>

#include "base/fd.h"

namespace gradwire {

class JobGuard {
 public:
  // The mark is a text that nobody has in the environment but the job's programs, which start after this.
  explicit JobGuard(const std::string& mark);
  ~JobGuard();  // nothing is left to guard, and nobody is killed
  JobGuard(const JobGuard&) = delete;
  JobGuard& operator=(const JobGuard&) = delete;

  pid_t pid() const { return guard_; }

 private:
  Fd alive_;  // which the guard sees closing
  pid_t guard_ = -1;
};

}  // namespace gradwire
