// The Wire of ranks on one host. Each rank owns a segment with its status, which its peers watch, and a ring
// for what each peer sends it; so bytes that were sent stay readable when their sender is gone. One thread,
// except wake().
#pragma once

#include <vector>

#include "net/backoff.h"
#include "net/shm/peer_watch.h"
#include "net/shm/ring.h"
#include "net/shm/segment.h"
#include "net/wire.h"
#include "net/world.h"

namespace gradwire {

// What every other rank may know of a rank; the first page of its segment.
struct ShmStatus {
  enum State : std::uint32_t { working, left, broken };
  std::atomic<std::uint32_t> state;
  std::uint32_t fault_bytes;  // these two are written before `state` becomes `broken`
  char fault[Fault::kLongest];
};

class ShmWire final : public Wire {
 public:
  // `segments` holds every rank's own, by rank, each of layout_bytes().
  ShmWire(RankNames names, std::vector<Segment> segments, PeerWatch watch, Backoff backoff);
  ~ShmWire() override;
  static std::size_t layout_bytes(int ranks, std::size_t ring_bytes);

  std::size_t write(Rank to, std::span<const std::byte> head, std::span<const std::byte> body) override;
  std::size_t read(Rank from, std::span<std::byte> head, std::span<std::byte> body) override;
  bool pause(bool again, Deadline deadline) override;
  std::optional<Fault> find_fault() override;
  void tell(const Fault& fault) noexcept override;
  void wake() noexcept override {}  // a pause here is short

 private:
  struct Peer {
    RingWriter to;
    RingReader from;
    ShmStatus* status;
    bool starved_to = false,
         starved_from = false;  // nothing could be moved since faults were last looked for
  };
  std::optional<Fault> find_fault_of(Rank other, bool dead);
  ShmStatus& status_of(Rank rank) const;
  std::span<std::byte> ring(Rank from, Rank to) const;

  const RankNames names_;
  const Rank rank_;
  const Backoff backoff_;
  const std::vector<Segment> segments_;
  std::vector<std::optional<Peer>> peers_;  // by rank; none for this rank itself
  PeerWatch watch_;
  Pause pause_;
};

}  // namespace gradwire
