// A Transport made of a Wire: queues of messages for each peer, a header before each message, and the check
// that both sides mean the same call. Sends start at once when the wire takes bytes; everything else moves in
// wait_any. Belongs to one thread, except cancel().
#pragma once

#include <atomic>
#include <deque>
#include <memory>
#include <vector>

#include "net/transport.h"
#include "net/wire.h"
#include "net/world.h"

namespace gradwire {

class MessageTransport final : public Transport {
 public:
  MessageTransport(RankNames names, int size, std::unique_ptr<Wire> wire);

  Rank rank() const override { return names_.rank; }
  int size() const override { return static_cast<int>(peers_.size()); }
  void send(Rank to, const Signature& call, std::span<const std::byte> bytes, Ticket ticket) override;
  void recv(Rank from, const Signature& call, std::span<std::byte> bytes, Ticket ticket) override;
  Ticket wait_any(Deadline deadline) override;
  void cancel() noexcept override;

 private:
  struct Header {  // crosses the wire as it is: the ranks of a job are like machines
    Signature call;
    std::uint64_t bytes = 0;
  };
  static_assert(sizeof(Header) == Wire::kLongestHead);

  struct Outgoing {
    Header header;
    std::span<const std::byte> bytes;
    Ticket ticket;
  };
  struct Incoming {
    Header expected;
    std::span<std::byte> bytes;
    Ticket ticket;
  };
  struct Peer {
    std::deque<Outgoing> sends;
    std::size_t sent = 0;  // of the first of `sends`, header and all
    std::deque<Incoming> recvs;
    std::size_t received = 0;  // of the first of `recvs`
    Header arrived;            // its header as far as received
  };

  Ticket wait_for_ticket(Deadline deadline);
  bool move_everything();
  bool push(Rank to, Peer& peer);
  bool pull(Rank from, Peer& peer);
  void check_header(Rank from, const Peer& peer) const;
  void check_patience(Deadline deadline);
  std::vector<Rank> awaited() const;
  std::string describe_waits() const;
  Ticket take_completed();

  void check_usable(Rank peer) const;
  // Runs `work`; when it throws, the transport is broken and its peers are told.
  template <typename Work>
  auto or_break(Work work);

  const RankNames names_;
  const std::unique_ptr<Wire> wire_;
  std::vector<Peer> peers_;
  std::vector<Ticket> completed_;
  std::size_t taken_ = 0;  // of `completed_`, by wait_any
  std::optional<Fault> fault_;
  std::atomic<bool> cancelled_ = false;
};

}  // namespace gradwire
