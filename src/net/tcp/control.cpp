#include "net/tcp/control.h"

#include <poll.h>
#include <sys/socket.h>

#include <array>
#include <cerrno>

namespace gradwire {
namespace {

// Last words are a letter, and for a fault its encoding and the end of the connection's text.
constexpr char kGoodbye = 'b', kFault = 'f', kEnd = '\0';

void say(int socket, const std::string& words) noexcept {
  // Nothing else was ever said here, so the socket's buffer has room for this.
  [[maybe_unused]] const ssize_t sent =
      ::send(socket, words.data(), words.size(), MSG_NOSIGNAL | MSG_DONTWAIT);
}

}  // namespace

ControlLane::State ControlLane::listen() {
  std::array<char, Fault::kLongest + 2> block;
  while (state_ == State::open) {
    const ssize_t got = ::recv(socket_.get(), block.data(), block.size(), MSG_DONTWAIT);
    if (got < 0 && (errno == EAGAIN || errno == EINTR)) break;
    if (got <= 0) {
      state_ = State::died;
      break;
    }
    heard_.append(block.data(), static_cast<std::size_t>(got));
    if (heard_[0] == kGoodbye) state_ = State::left;
    if (heard_[0] != kFault || heard_.back() != kEnd) continue;
    fault_ = Fault::decode(std::string_view(heard_).substr(1, heard_.size() - 2));
    state_ = State::broke;
  }
  return state_;
}

ControlLane::State ControlLane::listen_for(int milliseconds) {
  pollfd entry{socket_.get(), POLLIN, 0};
  if (listen() == State::open) ::poll(&entry, 1, milliseconds);
  return listen();
}

void ControlLane::say_goodbye() noexcept { say(socket_.get(), std::string(1, kGoodbye)); }

void ControlLane::say_fault(const std::string& encoded) noexcept {
  say(socket_.get(), kFault + encoded + kEnd);
}

}  // namespace gradwire
