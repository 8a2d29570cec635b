// The connection on which a rank says its last words to a peer, and hears the peer's. Never waits, except
// where said. One thread.
#pragma once

#include <optional>
#include <string>

#include "base/fd.h"
#include "net/fault.h"

namespace gradwire {

class ControlLane {
 public:
  enum class State { open, left, broke, died };  // of the peer, by its last words or the lack of them

  ControlLane() = default;
  explicit ControlLane(Fd socket) : socket_(std::move(socket)) {}

  int socket() const { return socket_.get(); }
  State listen();                      // hears what has been said
  State listen_for(int milliseconds);  // waits a moment for last words that may be under way
  State state() const { return state_; }
  const Fault& fault() const { return fault_; }  // why the peer broke

  void say_goodbye() noexcept;
  void say_fault(const std::string& encoded) noexcept;

 private:
  Fd socket_;
  State state_ = State::open;
  std::string heard_;
  Fault fault_;
};

}  // namespace gradwire
