#include "launch/child_process.h"

#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <utility>

#include "base/error.h"

namespace gradwire {

// The child's side makes only calls that are safe between a fork of many threads and exec.
ChildProcess::ChildProcess() {
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ < 0) throw_system_error("fork");
  if (pid_ == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it died before the line above
    return;
  }
  ::setpgid(pid_, pid_);  // here as well: signal() must find the group whoever runs first
  descriptor_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (descriptor_) return;
  const int error = errno;
  ::kill(pid_, SIGKILL);
  ::waitpid(pid_, nullptr, 0);
  errno = error;
  throw_system_error("pidfd_open");
}

ChildProcess::ChildProcess(ChildProcess&& other) noexcept
    : pid_(std::exchange(other.pid_, -1)),
      descriptor_(std::move(other.descriptor_)),
      status_(other.status_),
      stop_(other.stop_) {}

ChildProcess::~ChildProcess() {
  if (pid_ <= 0 || status_) return;
  signal(SIGKILL);
  while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
  }
}

void ChildProcess::signal(int number) const {
  if (pid_ > 0 && !status_) ::kill(-pid_, number);
}

// Reaped only after the group is killed: until then its number, which is the child's, is given to nobody
// else.
std::optional<int> ChildProcess::find_status() {
  if (status_ || !find_change(WEXITED | WNOWAIT)) return status_;
  signal(SIGKILL);
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) throw_system_error("waitpid");
  status_ = status;
  return status_;
}

std::optional<int> ChildProcess::find_stop() {
  if (find_status()) return std::nullopt;
  while (const auto change = find_change(WSTOPPED | WCONTINUED))
    stop_ = change->si_code == CLD_STOPPED ? std::optional(change->si_status) : std::nullopt;
  return stop_;
}

std::optional<siginfo_t> ChildProcess::find_change(int how) const {
  siginfo_t change{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &change, how | WNOHANG) != 0) {
    // To who does not ask for ends, a child that has just ended is none.
    if (errno == ECHILD && (how & WEXITED) == 0) return std::nullopt;
    throw_system_error("waitid");
  }
  return change.si_pid == 0 ? std::nullopt : std::optional(change);
}

}  // namespace gradwire
