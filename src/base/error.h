// The errors of Gradwire: one small family of exceptions. The text of each names what a user needs to act on
// it: the rank, the peer, the operation, the values, and where possible the line to write instead.
//
//   Error
//     ConfigError       the caller asked for something that can't be (bad flag, bad file, bad environment)
//     FileError         the disk is full or broken: nobody asked for anything wrong
//     Mismatch          ranks disagree on the collective they are in; the text shows both sides
//     TransportError    bytes could not be moved
//       PeerLost        a rank is gone: its process ended, or its connection closed
//       Timeout         a deadline passed; the text names who was waited for
//     Cancelled         this rank itself gave up waiting: its communicator is being destroyed
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>

#include "base/units.h"

namespace gradwire {

class Error : public std::runtime_error {
 public:
  using std::runtime_error::runtime_error;
};

class ConfigError : public Error {
 public:
  using Error::Error;
};

class FileError : public Error {
 public:
  using Error::Error;
};

class Mismatch : public Error {
 public:
  using Error::Error;
};

class Cancelled : public Error {
 public:
  using Error::Error;
};

class TransportError : public Error {
 public:
  using Error::Error;
};

class PeerLost : public TransportError {
 public:
  PeerLost(Rank peer, const std::string& what) : TransportError(what), peer_(peer) {}
  Rank peer() const { return peer_; }

 private:
  Rank peer_;
};

class Timeout : public TransportError {
 public:
  using TransportError::TransportError;
};

// A bug in Gradwire if false: throws Error with the place and the reason.
// (The builtins stand in for std::source_location, which clang 14 does not have.)
inline void check(bool condition, const char* reason, const char* file = __builtin_FILE(),
                  int line = __builtin_LINE()) {
  if (!condition) [[unlikely]]
    throw Error(fmt::format("bug in gradwire at {}:{}: {}", file, line, reason));
}

// The error of a failed system call: "open /dev/shm/x: Permission denied". Reads errno.
[[noreturn]] void throw_system_error(const std::string& what);

}  // namespace gradwire
