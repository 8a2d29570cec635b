#include "launch/signal_watch.h"

#include <sys/signalfd.h>

#include "base/error.h"

namespace gradwire {
namespace {

bool is_ignored(int signal) {
  struct sigaction action {};
  return ::sigaction(signal, nullptr, &action) == 0 && action.sa_handler == SIG_IGN;
}

}  // namespace

SignalWatch::SignalWatch(const std::vector<int>& signals) {
  sigset_t watched;
  ::sigemptyset(&watched);
  for (const int signal : signals)
    if (!is_ignored(signal)) ::sigaddset(&watched, signal);
  descriptor_ = Fd(::signalfd(-1, &watched, SFD_NONBLOCK | SFD_CLOEXEC));
  if (!descriptor_) throw_system_error("signalfd");
  ::pthread_sigmask(SIG_BLOCK, &watched, &before_);
}

SignalWatch::~SignalWatch() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }

std::optional<int> SignalWatch::next() {
  signalfd_siginfo info{};
  if (::read(descriptor_.get(), &info, sizeof info) != sizeof info) return std::nullopt;
  return static_cast<int>(info.ssi_signo);
}

std::optional<int> SignalWatch::find_interruption() {
  while (const auto number = next())
    if (*number != SIGUSR1 && *number != SIGUSR2) return number;
  return std::nullopt;
}

}  // namespace gradwire
