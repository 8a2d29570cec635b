#include "launch/forked_rank.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>

#include "base/error.h"

namespace gradwire {

ForkedRank::ForkedRank(Rank rank, const std::function<Outcome()>& function) : rank_(rank) {
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) throw_system_error("pipe2");
  report_ = Fd(ends[0]);
  const Fd write_end(ends[1]);
  const pid_t parent = ::getpid();
  std::fflush(nullptr);  // or the child would print it again
  pid_ = ::fork();
  if (pid_ < 0) throw_system_error("fork");
  if (pid_ == 0) {
    ::setpgid(0, 0);
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(1);  // it died before the line above
    run_child(function, write_end.get());
  }
  ::setpgid(pid_, pid_);  // here as well: signal() must find the group whoever runs first
  process_ = Fd(static_cast<int>(::syscall(SYS_pidfd_open, pid_, 0)));
  if (!process_) throw_system_error("pidfd_open");
}

void ForkedRank::run_child(const std::function<Outcome()>& function, int report) {
  Outcome outcome;
  try {
    outcome = function();
  } catch (...) {
    std::fputs("gradwire: a rank threw something that is no std::exception\n", stderr);
    ::_exit(1);
  }
  std::fflush(nullptr);
  const auto bytes = encode(outcome);
  const bool told = ::write(report, bytes.data(), bytes.size()) == static_cast<ssize_t>(bytes.size());
  ::_exit(told && outcome.ok() ? 0 : 1);
}

ForkedRank::~ForkedRank() {
  signal(SIGKILL);
  siginfo_t ended{};
  while (!outcome_ && ::waitid(P_PID, static_cast<id_t>(pid_), &ended, WEXITED) < 0 && errno == EINTR) {
  }
}

void ForkedRank::signal(int number) const {
  if (!outcome_) ::kill(-pid_, number);
}

// Reaped only after what it left behind in its group is killed: until then its number, which is the group's,
// is given to nobody else.
std::optional<Outcome> ForkedRank::find_outcome() {
  if (outcome_ || !has_changed(WEXITED | WNOWAIT)) return outcome_;
  signal(SIGKILL);
  int status = 0;
  if (::waitpid(pid_, &status, 0) != pid_) throw_system_error("waitpid");
  outcome_ = read_outcome(status);
  return outcome_;
}

std::optional<int> ForkedRank::find_stop() {
  if (find_outcome()) return std::nullopt;
  while (const auto change = has_changed(WSTOPPED | WCONTINUED))
    stop_ = change->si_code == CLD_STOPPED ? std::optional(change->si_status) : std::nullopt;
  return stop_;
}

std::optional<siginfo_t> ForkedRank::has_changed(int how) const {
  siginfo_t change{};
  if (::waitid(P_PID, static_cast<id_t>(pid_), &change, how | WNOHANG) != 0) throw_system_error("waitid");
  return change.si_pid == 0 ? std::nullopt : std::optional(change);
}

// What the rank told counts, unless it died or called exit() before it could.
Outcome ForkedRank::read_outcome(int wait_status) const {
  char bytes[kLongestReport];
  const auto got = ::read(report_.get(), bytes, sizeof bytes);
  if (got > 0 && WIFEXITED(wait_status)) return decode_outcome({bytes, static_cast<std::size_t>(got)});
  auto outcome = outcome_of_process(rank_, wait_status);
  if (outcome.ok()) outcome.kind = Outcome::Kind::exited;
  return outcome;
}

}  // namespace gradwire
