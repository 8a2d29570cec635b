// Waits until a process that may not be a child of this one is gone or dead.
#pragma once

#include <poll.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/deadline.h"
#include "base/fd.h"
#include "net/address/socket.h"

namespace gradwire {

inline bool has_ended(pid_t process) {
  const Fd descriptor(static_cast<int>(::syscall(SYS_pidfd_open, process, 0)));
  return !descriptor || wait_until_ready(descriptor.get(), POLLIN, Deadline::after(60));
}

}  // namespace gradwire
