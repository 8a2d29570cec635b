// Moves bytes between ranks: in order for each pair, reliably, and with the call's signature checked at the
// receiver.
//
// send and recv only post; memory must stay put until its ticket is returned by wait_any. The n-th send to a
// peer meets the n-th recv the peer posts for this rank; their signatures and lengths must be equal,
// otherwise the receiver throws Mismatch showing both. After any exception the transport is broken: it tells
// its peers why, as far as it can, and every later call throws again. An object belongs to one thread at a
// time, except cancel().
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "base/collective.h"
#include "base/deadline.h"

namespace gradwire {

using Ticket = std::uint64_t;  // the caller's own number for a posted operation; comes back from wait_any

class Transport {
 public:
  virtual ~Transport() = default;
  virtual Rank rank() const = 0;
  virtual int size() const = 0;
  virtual void send(Rank to, const Signature&, std::span<const std::byte>, Ticket) = 0;
  virtual void recv(Rank from, const Signature&, std::span<std::byte>, Ticket) = 0;

  // The next operation that is complete: a recv whose bytes are here, a send whose memory may be used again.
  // Throws Timeout naming the peers waited for, PeerLost naming the peer, Mismatch, Cancelled.
  virtual Ticket wait_any(Deadline) = 0;

  // From any thread: makes a running or later wait_any throw Cancelled soon.
  virtual void cancel() noexcept = 0;
};

}  // namespace gradwire
