// What a backend implements: collectives and messages that block, called by one thread at a time. Queued
// (queued.h) makes an asynchronous Communicator of it; what is made of messages (messages.h) is asked of exchange().
#pragma once

#include <cstddef>
#include <exception>
#include <span>
#include <string>

#include "comm/communicator.h"

namespace gradwire {

class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual Rank rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;
  virtual Carrier carrier() const = 0;  // never GPUs
  // `signature` is that of the call, already checked, with its sequence number.
  virtual void run(const Call&, const Signature&) = 0;
  // Messages with other ranks, all under way together; each travels with signature_of() it. `timeout` 0: the world's.
  virtual void exchange(std::span<const Message>, const Signature&, Seconds timeout) = 0;
  virtual Memory allocate(std::size_t bytes) = 0;
  // From any thread: makes a running call throw Cancelled soon, where the library behind it can.
  virtual void cancel() noexcept = 0;
  // When no call runs and none will: tells the others why, where the library behind it can.
  virtual void give_up(const std::exception& why) noexcept = 0;
};

}  // namespace gradwire
