#include "net/message_transport.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "net/overdue.h"

namespace gradwire {
namespace {

constexpr int kMovesPerCheck = 128;  // while bytes flow, the clock and the peers are looked at this rarely
constexpr std::size_t kTakenKept = 1024;  // tickets already taken that may stay in the list

}  // namespace

MessageTransport::MessageTransport(RankNames names, int size, std::unique_ptr<Wire> wire)
    : names_(std::move(names)), wire_(std::move(wire)), peers_(static_cast<std::size_t>(size)) {}

template <typename Work>
auto MessageTransport::or_break(Work work) {
  if (fault_) fault_->raise(names_.me());
  try {
    return work();
  } catch (const std::exception& error) {
    if (!fault_) fault_ = Fault::of(error, names_.me());
    wire_->tell(*fault_);
    throw;
  }
}

void MessageTransport::send(Rank to, const Signature& call, std::span<const std::byte> bytes, Ticket ticket) {
  check_usable(to);
  Peer& peer = peers_[to];
  peer.sends.push_back({{call, bytes.size()}, bytes, ticket});
  if (peer.sends.size() == 1) or_break([&] { push(to, peer); });
}

void MessageTransport::recv(Rank from, const Signature& call, std::span<std::byte> bytes, Ticket ticket) {
  check_usable(from);
  peers_[from].recvs.push_back({{call, bytes.size()}, bytes, ticket});
}

Ticket MessageTransport::wait_any(Deadline deadline) {
  return or_break([&] { return wait_for_ticket(deadline); });
}

void MessageTransport::cancel() noexcept {
  cancelled_.store(true);
  wire_->wake();
}

Ticket MessageTransport::wait_for_ticket(Deadline deadline) {
  if (cancelled_.load(std::memory_order_relaxed)) check_patience(deadline);
  bool again = false;
  for (int moves = 1; taken_ == completed_.size(); ++moves) {
    const bool moved = move_everything();
    if (moved ? moves % kMovesPerCheck == 0 : wire_->pause(again, deadline)) check_patience(deadline);
    again = !moved;
  }
  return take_completed();
}

// One turn for every stream with something to move, so that both directions and all peers advance together.
bool MessageTransport::move_everything() {
  bool moved = false, waits = false;
  for (Rank other = 0; other < size(); ++other) {
    Peer& peer = peers_[other];
    if (!peer.sends.empty()) waits = true, moved |= push(other, peer);
    if (!peer.recvs.empty()) waits = true, moved |= pull(other, peer);
  }
  check(waits, "wait_any without an outstanding operation");
  return moved;
}

bool MessageTransport::push(Rank to, Peer& peer) {
  const Outgoing& message = peer.sends.front();
  const auto header = std::as_bytes(std::span(&message.header, 1));
  const std::size_t of_header = std::min(peer.sent, header.size());
  const std::size_t moved =
      wire_->write(to, header.subspan(of_header), message.bytes.subspan(peer.sent - of_header));
  peer.sent += moved;
  if (peer.sent == header.size() + message.bytes.size()) {
    completed_.push_back(message.ticket);
    peer.sends.pop_front();
    peer.sent = 0;
  }
  return moved > 0;
}

bool MessageTransport::pull(Rank from, Peer& peer) {
  const Incoming& message = peer.recvs.front();
  const auto header = std::as_writable_bytes(std::span(&peer.arrived, 1));
  const std::size_t before = peer.received, of_header = std::min(before, header.size());
  const std::size_t moved =
      wire_->read(from, header.subspan(of_header), message.bytes.subspan(before - of_header));
  peer.received += moved;
  if (before < header.size() && peer.received >= header.size()) check_header(from, peer);
  if (peer.received == header.size() + message.bytes.size()) {
    completed_.push_back(message.ticket);
    peer.recvs.pop_front();
    peer.received = 0;
  }
  return moved > 0;
}

void MessageTransport::check_header(Rank from, const Peer& peer) const {
  const Header &mine = peer.recvs.front().expected, &theirs = peer.arrived;
  if (mine.call != theirs.call)
    throw Mismatch(describe_mismatch(names_.me(), mine.call, names_.of(from), theirs.call));
  if (mine.bytes != theirs.bytes)
    throw Mismatch(
        fmt::format("ranks disagree on a message of {}: rank {} expects {} bytes, but rank {} sends {}",
                    describe(mine.call), names_.me(), mine.bytes, names_.of(from), theirs.bytes));
}

void MessageTransport::check_patience(Deadline deadline) {
  if (cancelled_.load(std::memory_order_relaxed))
    throw Cancelled(fmt::format("rank {} was told to stop waiting for {}", names_.me(), describe_waits()));
  if (const auto found = wire_->find_fault())
    fault_ = found->seen_by(names_.me(), awaited(), describe_waits());
  if (fault_) fault_->raise(names_.me());
  if (deadline.passed())
    throw Overdue(fmt::format("rank {} waited too long for {}", names_.me(), describe_waits()), awaited());
}

std::vector<Rank> MessageTransport::awaited() const {
  std::vector<Rank> ranks;
  for (Rank other = 0; other < size(); ++other)
    if (!peers_[other].recvs.empty() || !peers_[other].sends.empty()) ranks.push_back(names_.of(other));
  return ranks;
}

// "rank 1 to send 4096 bytes (call 3: ...), rank 2 to take 64 bytes (call 3: ...)"
std::string MessageTransport::describe_waits() const {
  std::vector<std::string> waits;
  for (Rank other = 0; other < size(); ++other) {
    const Peer& peer = peers_[other];
    const auto add = [&](const char* what, const Header& header) {
      waits.push_back(fmt::format("rank {} to {} {} bytes ({})", names_.of(other), what, header.bytes,
                                  describe(header.call)));
    };
    if (!peer.recvs.empty()) add("send", peer.recvs.front().expected);
    if (!peer.sends.empty()) add("take", peer.sends.front().header);
  }
  return waits.empty() ? "nobody" : join(waits, ", ");
}

Ticket MessageTransport::take_completed() {
  const Ticket ticket = completed_[taken_++];
  if (taken_ == completed_.size() || taken_ == kTakenKept) {
    completed_.erase(completed_.begin(), completed_.begin() + static_cast<std::ptrdiff_t>(taken_));
    taken_ = 0;
  }
  return ticket;
}

void MessageTransport::check_usable(Rank peer) const {
  if (fault_) fault_->raise(names_.me());
  check(peer >= 0 && peer < size() && peer != rank(),
        "a message needs another rank of this world as its peer");
}

}  // namespace gradwire
