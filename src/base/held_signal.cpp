#include "base/held_signal.h"

#include <csignal>
#include <ctime>

namespace gradwire {
namespace {

sigset_t only(int number) {
  sigset_t set;
  ::sigemptyset(&set);
  ::sigaddset(&set, number);
  return set;
}

}  // namespace

HeldSignal::HeldSignal(int number) : number_(number) {
  const sigset_t held = only(number);
  sigset_t before;
  ::pthread_sigmask(SIG_BLOCK, &held, &before);
  held_here_ = ::sigismember(&before, number) == 0;
}

HeldSignal::~HeldSignal() {
  if (!held_here_) return;
  const sigset_t held = only(number_);
  const timespec at_once{};
  while (::sigtimedwait(&held, nullptr, &at_once) == number_) continue;
  ::pthread_sigmask(SIG_UNBLOCK, &held, nullptr);
}

}  // namespace gradwire
