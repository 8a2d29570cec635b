#include "comm/shm/wire.h"

#include <utility>

#include "base/error.h"
#include "comm/messages.h"

namespace gradwire {
namespace {

// From here on a message is preceded by the place where it lies: both sides know its length, so both do it alike.
constexpr std::size_t kPlaced = 32 << 10;

// Tickets: sends have this one, a place or a message that came has its sender's number.
constexpr Ticket kSent = ~Ticket{0};

std::span<std::byte> bytes_in(Place& place) { return std::as_writable_bytes(std::span(&place, 1)); }

}  // namespace

GroupWire::GroupWire(Group& group) : group_(group), pause_(group.backoff().spins()) {
  for (Rank other = 0; other < group.size(); ++other)
    peers_.push_back(
        {RingWriter(group.ring(group.rank(), other)), RingReader(group.ring(other, group.rank()))});
}

std::size_t GroupWire::write(Rank to, std::span<const std::byte> head, std::span<const std::byte> body) {
  const std::size_t moved = peers_[to].to.write(head, body);
  peers_[to].writes = moved == 0;
  return moved;
}

std::size_t GroupWire::read(Rank from, std::span<std::byte> head, std::span<std::byte> body) {
  const std::size_t moved = peers_[from].from.read(head, body);
  peers_[from].reads = moved == 0;
  return moved;
}

bool GroupWire::pause(bool again, Deadline) {
  if (!again) pause_ = Pause(group_.backoff().spins());
  return pause_.step();
}

// What the peer did before the fault was seen counts, hence the second look at its rings.
std::optional<Fault> GroupWire::find_fault() {
  for (Rank other = 0; other < group_.size(); ++other) {
    Peer& peer = peers_[other];
    const bool writes = std::exchange(peer.writes, false), reads = std::exchange(peer.reads, false);
    if (!writes && !reads) continue;
    auto fault = group_.find_fault(other);
    if (fault && !(writes && peer.to.can_write()) && !(reads && peer.from.has_bytes())) return fault;
  }
  return std::nullopt;
}

Mail::Mail(Group& group, Registry& registry)
    : group_(group),
      registry_(registry),
      transport_(group.world().names(), group.size(), std::make_unique<GroupWire>(group)),
      peers_(static_cast<std::size_t>(group.size())) {}

void Mail::exchange(std::span<const Message> messages, const Signature& call, Seconds timeout) {
  group_.set_timeout(timeout);
  for (const Message& message : messages)
    if (message.in)
      peers_[message.peer].expected.push_back(
          {*message.in, signature_of(call, message.tag, message.in->size()), message.in->size() >= kPlaced});
  for (Rank from = 0; from < group_.size(); ++from) ask_for_next(from);
  post_sends(messages, call);
  while (under_way_ > 0) {
    const Ticket ticket =
        transport_.wait_any(Deadline::after(timeout > 0 ? timeout : group_.world().timeout));
    --under_way_;
    if (ticket != kSent) arrived(static_cast<Rank>(ticket));
  }
  for (Rank to = 0; to < group_.size(); ++to) group_.await_taken(to, peers_[to].left);
  places_.clear();
}

void Mail::post_sends(std::span<const Message> messages, const Signature& call) {
  const auto post = [&](Rank to, const Signature& signature, std::span<const std::byte> bytes) {
    transport_.send(to, signature, bytes, kSent);
    ++under_way_;
  };
  for (const Message& message : messages) {
    if (!message.out) continue;
    const Signature signature = signature_of(call, message.tag, message.out->size());
    if (message.out->size() >= kPlaced) {
      places_.push_back(registry_.find(*message.out));
      post(message.peer, signature, bytes_in(places_.back()));
      if (places_.back().region != 0) ++peers_[message.peer].left;
    }
    if (message.out->size() < kPlaced || places_.back().region == 0)
      post(message.peer, signature, *message.out);
  }
}

// The peer's messages one after the other: what follows a place depends on it.
void Mail::ask_for_next(Rank from) {
  auto& expected = peers_[from].expected;
  if (expected.empty()) return;
  Incoming& next = expected.front();
  transport_.recv(from, next.signature, next.placed ? bytes_in(next.place) : next.bytes,
                  static_cast<Ticket>(from));
  ++under_way_;
}

void Mail::arrived(Rank from) {
  Peer& peer = peers_[from];
  Incoming& message = peer.expected.front();
  const bool here = !std::exchange(message.placed, false);
  if (!here && message.place.region != 0) {
    copy_bytes(message.bytes.data(), registry_.map(from, message.place), message.bytes.size());
    group_.taken(group_.rank(), from).store(++peer.taken, std::memory_order_release);
  }
  if (here || message.place.region != 0) peer.expected.pop_front();
  ask_for_next(from);
}

}  // namespace gradwire
