// The bytes between this rank and each of its peers: what a transport needs from shared memory or a network.
// MessageTransport makes messages of it.
//
// Each ordered pair of ranks has one stream of bytes. read and write never wait; when neither can move
// anything the owner calls pause(), and asks find_fault() when that returns true. One thread, except wake().
#pragma once

#include <cstddef>
#include <optional>
#include <span>

#include "base/deadline.h"
#include "net/fault.h"

namespace gradwire {

class Wire {
 public:
  static constexpr std::size_t kLongestHead = 32;  // so that a small message fits one cache line with it

  virtual ~Wire() = default;

  // Moves the next bytes of the stream, of `head` and then of `body`, and returns how many: 0 when none can
  // move now. A wire may move fewer than it could, so that others have their turn. Bytes to a peer that is
  // gone stay where they are; find_fault() tells of it.
  virtual std::size_t write(Rank to, std::span<const std::byte> head, std::span<const std::byte> body) = 0;
  virtual std::size_t read(Rank from, std::span<std::byte> head, std::span<std::byte> body) = 0;

  // Lets time pass after reads and writes that moved nothing: a few nanoseconds at first, more as it is
  // called `again` without progress, until a stream tried since the last pause can move, somebody calls
  // wake(), or the deadline. True when it is time to ask for faults and to look at the clock.
  virtual bool pause(bool again, Deadline deadline) = 0;

  // Why this rank can't go on, if so: a peer died, broke, or left while it is needed.
  virtual std::optional<Fault> find_fault() = 0;

  // Tells every peer why this rank gives up, as far as that is possible without waiting for long.
  virtual void tell(const Fault& fault) noexcept = 0;

  // From any thread: ends a pause.
  virtual void wake() noexcept = 0;
};

}  // namespace gradwire
