// A child of this process that leads a process group of its own. The object owns both: when it goes, whatever
// still lives in the group is killed, and the child is reaped. The child also dies with the thread that
// forked it. Belongs to one thread.
#pragma once

#include <sys/types.h>

#include <csignal>
#include <optional>

#include "base/fd.h"

namespace gradwire {

class ChildProcess {
 public:
  // Forks. In the child is_child() holds, and the caller must end it by exec or _exit.
  ChildProcess();
  ~ChildProcess();
  ChildProcess(ChildProcess&& other) noexcept;
  ChildProcess& operator=(ChildProcess&&) = delete;

  bool is_child() const { return pid_ == 0; }
  pid_t pid() const { return pid_; }
  // Becomes readable for poll() when the child has ended.
  int descriptor() const { return descriptor_.get(); }
  // As waitpid() gives it, once the child has ended. What it left behind in its group is killed then.
  std::optional<int> find_status();
  // The signal that has stopped the child, if it is stopped now.
  std::optional<int> find_stop();
  void signal(int number) const;  // to the whole group, while the child lives

 private:
  std::optional<siginfo_t> find_change(int how) const;

  pid_t pid_ = -1;
  Fd descriptor_;
  std::optional<int> status_, stop_;
};

}  // namespace gradwire
