#include "net/store/server.h"

#include <sys/eventfd.h>

#include <csignal>
#include <cstdint>

#include "base/error.h"
#include "base/say.h"
#include "net/address/socket.h"
#include "net/store/service.h"

namespace gradwire {
namespace {

// A thread made while all signals are blocked never takes one away from the program's own threads.
class SignalsBlocked {
 public:
  SignalsBlocked() {
    sigset_t all;
    ::sigfillset(&all);
    ::pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~SignalsBlocked() { ::pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;

 private:
  sigset_t before_;
};

// The clients see the connections close; the words are for whoever looks for the reason.
void serve_until_stopped(StoreService& service, int stop) {
  try {
    service.run(stop);
  } catch (const std::exception& error) {
    say("gradwire", fmt::format("the store ended: {}", error.what()));
  }
}

}  // namespace

StoreServer::StoreServer(Fd listener, std::string secret, const Limits& limits)
    : address_(local_address(listener.get())), stop_(::eventfd(0, EFD_CLOEXEC)) {
  if (!stop_) throw_system_error("eventfd");
  auto service = std::make_unique<StoreService>(std::move(listener), std::move(secret), limits);
  const SignalsBlocked signals_blocked;
  thread_ = std::thread(
      [service = std::move(service), stop = stop_.get()] { serve_until_stopped(*service, stop); });
}

StoreServer::~StoreServer() {
  const std::uint64_t one = 1;
  // An eventfd that nobody reads takes eight bytes without fail.
  [[maybe_unused]] const auto written = ::write(stop_.get(), &one, sizeof one);
  thread_.join();
}

}  // namespace gradwire
