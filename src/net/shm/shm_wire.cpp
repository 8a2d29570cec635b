#include "net/shm/shm_wire.h"

#include <algorithm>
#include <cstring>

#include "base/error.h"

namespace gradwire {
namespace {

constexpr std::size_t kStatusBytes = 4096;
static_assert(sizeof(ShmStatus) <= kStatusBytes);

}  // namespace

std::size_t ShmWire::layout_bytes(int ranks, std::size_t ring_bytes) {
  return kStatusBytes + static_cast<std::size_t>(ranks - 1) * ring_bytes;
}

ShmWire::ShmWire(RankNames names, std::vector<Segment> segments, PeerWatch watch, Backoff backoff)
    : names_(std::move(names)),
      rank_(names_.rank),
      backoff_(backoff),
      segments_(std::move(segments)),
      watch_(std::move(watch)),
      pause_(backoff.spins()) {
  for (Rank other = 0; other < static_cast<Rank>(segments_.size()); ++other) {
    peers_.emplace_back();
    if (other == rank_) continue;
    peers_.back() = Peer{RingWriter(ring(rank_, other)), RingReader(ring(other, rank_)), &status_of(other)};
  }
}

// Says that this rank needs nobody any more and nobody should wait for it; a rank that died cannot say that.
ShmWire::~ShmWire() {
  std::uint32_t expected = ShmStatus::working;
  status_of(rank_).state.compare_exchange_strong(expected, ShmStatus::left, std::memory_order_release);
}

std::size_t ShmWire::write(Rank to, std::span<const std::byte> head, std::span<const std::byte> body) {
  const std::size_t moved = peers_[to]->to.write(head, body);
  peers_[to]->starved_to = moved == 0;
  return moved;
}

std::size_t ShmWire::read(Rank from, std::span<std::byte> head, std::span<std::byte> body) {
  const std::size_t moved = peers_[from]->from.read(head, body);
  peers_[from]->starved_from = moved == 0;
  return moved;
}

bool ShmWire::pause(bool again, Deadline) {
  if (!again) pause_ = Pause(backoff_.spins());
  return pause_.step();
}

std::optional<Fault> ShmWire::find_fault() {
  const std::optional<Rank> dead = watch_.find_dead();
  for (Rank other = 0; other < static_cast<Rank>(peers_.size()); ++other) {
    if (other == rank_) continue;
    if (auto fault = find_fault_of(other, dead == other)) return fault;
    peers_[other]->starved_to = peers_[other]->starved_from = false;
  }
  return std::nullopt;
}

// Whether the peer is dead was found out before its status is read here, so the status is its last word.
std::optional<Fault> ShmWire::find_fault_of(Rank other, bool dead) {
  const Peer& peer = *peers_[other];
  const auto state = peer.status->state.load(std::memory_order_acquire);
  if (state == ShmStatus::broken)
    return Fault::decode(
        {peer.status->fault, std::min<std::size_t>(peer.status->fault_bytes, Fault::kLongest)});
  if (state == ShmStatus::left) {
    watch_.forget(other);
    if (!peer.starved_to && (!peer.starved_from || peer.from.has_bytes())) return std::nullopt;
    return Fault{
        Fault::Kind::peer_lost, names_.me(), names_.of(other),
        fmt::format("rank {} has left, but rank {} still waits for it", names_.of(other), names_.me())};
  }
  if (!dead) return std::nullopt;
  return Fault{Fault::Kind::peer_lost, names_.me(), names_.of(other),
               fmt::format("rank {} is gone: its process {} has ended", names_.of(other),
                           segments_[other].name().pid)};
}

void ShmWire::tell(const Fault& fault) noexcept {
  ShmStatus& status = status_of(rank_);
  if (status.state.load(std::memory_order_relaxed) == ShmStatus::broken) return;
  const std::string text = fault.encode();
  std::memcpy(status.fault, text.data(), text.size());
  status.fault_bytes = static_cast<std::uint32_t>(text.size());
  status.state.store(ShmStatus::broken, std::memory_order_release);
}

ShmStatus& ShmWire::status_of(Rank rank) const {
  return *reinterpret_cast<ShmStatus*>(segments_[rank].bytes().data());
}

// In the receiver's segment, one for each other rank in rank order.
std::span<std::byte> ShmWire::ring(Rank from, Rank to) const {
  const auto rings = segments_[to].bytes().subspan(kStatusBytes);
  const std::size_t each = rings.size() / (segments_.size() - 1);
  return rings.subspan(static_cast<std::size_t>(from < to ? from : from - 1) * each, each);
}

}  // namespace gradwire
