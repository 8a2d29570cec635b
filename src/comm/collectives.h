// What a backend implements: collectives that block, called by one thread at a time. Queued (queued.h) makes
// an asynchronous Communicator of it.
#pragma once

#include <cstddef>
#include <string>

#include "comm/communicator.h"

namespace gradwire {

class Collectives {
 public:
  virtual ~Collectives() = default;
  virtual Rank rank() const = 0;
  virtual int size() const = 0;
  virtual std::string name() const = 0;
  // `signature` is that of the call, already checked, with its sequence number.
  virtual void run(const Call&, const Signature&) = 0;
  virtual Memory allocate(std::size_t bytes) = 0;
  // From any thread: makes a running call throw Cancelled soon, where the library behind it can.
  virtual void cancel() noexcept = 0;
};

}  // namespace gradwire
