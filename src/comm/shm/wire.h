// The messages between two ranks of a shm communicator, of which the other ranks know nothing.
//
// GroupWire is the stream of bytes of every ordered pair, a ring in the group's segment; it notices what the group notices. Mail
// moves messages on it. A long message that lies in communicator memory is not put into the ring, only its place is, and
// whoever receives it copies it from there: one copy. Both belong to the thread that runs the communicator, except cancel().
#pragma once

#include <deque>
#include <memory>
#include <optional>
#include <vector>

#include "comm/collectives.h"
#include "comm/shm/registry.h"
#include "net/message_transport.h"
#include "net/shm/ring.h"
#include "net/wire.h"

namespace gradwire {

class GroupWire final : public Wire {
 public:
  explicit GroupWire(Group& group);
  std::size_t write(Rank to, std::span<const std::byte> head, std::span<const std::byte> body) override;
  std::size_t read(Rank from, std::span<std::byte> head, std::span<std::byte> body) override;
  bool pause(bool again, Deadline deadline) override;
  std::optional<Fault> find_fault() override;
  void tell(const Fault& fault) noexcept override { group_.tell(fault); }
  void wake() noexcept override {}  // a pause here is short

 private:
  struct Peer {
    RingWriter to;
    RingReader from;
    bool writes = false, reads = false;  // nothing could be moved since faults were last looked for
  };
  Group& group_;
  std::vector<Peer> peers_;
  Pause pause_;
};

class Mail {
 public:
  Mail(Group& group, Registry& registry);
  void exchange(std::span<const Message> messages, const Signature& call, Seconds timeout);
  void cancel() noexcept { transport_.cancel(); }

 private:
  struct Incoming {
    std::span<std::byte> bytes;
    Signature signature;
    bool placed;  // its place comes first
    Place place = {};
  };
  struct Peer {
    std::deque<Incoming> expected;  // in order; what is asked for is the first of them
    std::uint64_t left = 0,
                  taken = 0;  // messages left in this rank's memory for the peer, taken from the peer's
  };
  void post_sends(std::span<const Message> messages, const Signature& call);
  void ask_for_next(Rank from);
  void arrived(Rank from);

  Group& group_;
  Registry& registry_;
  MessageTransport transport_;
  std::vector<Peer> peers_;
  std::deque<Place> places_;  // under way
  int under_way_ = 0;
};

}  // namespace gradwire
