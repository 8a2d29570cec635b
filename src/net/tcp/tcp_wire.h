// The Wire of ranks joined by TCP connections. Streams of bytes travel on a pair's data lanes, blocks of the
// stream in turn when there are several. A connection of its own, the control lane, carries nothing but a
// rank's last words: that it leaves, or why it breaks. So these reach a peer however full the data lanes are,
// and a control lane that ends without last words is a rank that died. One thread, except wake().
#pragma once

#include <poll.h>

#include <chrono>
#include <string>
#include <vector>

#include "net/tcp/control.h"
#include "net/tcp/mesh.h"
#include "net/tcp/tcp_transport.h"
#include "net/wire.h"
#include "net/world.h"

namespace gradwire {

class TcpWire final : public Wire {
 public:
  // `mesh` has options.sockets lanes and the control lane for each peer. `spins`: every rank here has a core.
  TcpWire(RankNames names, std::vector<Lanes> mesh, const TcpOptions& options, bool spins);
  ~TcpWire() override;

  std::size_t write(Rank to, std::span<const std::byte> head, std::span<const std::byte> body) override;
  std::size_t read(Rank from, std::span<std::byte> head, std::span<std::byte> body) override;
  bool pause(bool again, Deadline deadline) override;
  std::optional<Fault> find_fault() override;
  void tell(const Fault& fault) noexcept override;
  void wake() noexcept override;

 private:
  using Clock = std::chrono::steady_clock;
  struct Direction {
    std::uint64_t moved = 0;  // bytes of the stream so far
    bool starved = false;     // none could move since the last pause
  };
  struct Peer {
    Lanes lanes;
    ControlLane control;
    Direction to, from;
    std::string end;  // how a data lane ended, if one did
  };
  struct Slot {  // where the next bytes of a stream go
    int socket;
    std::size_t bytes;
  };

  Slot slot(const Peer& peer, const Direction& direction) const;
  std::size_t moved(Peer& peer, Direction& direction, ssize_t result);
  void block(Deadline deadline);
  std::optional<Fault> find_fault_of(Rank other, Peer& peer);

  const RankNames names_;
  const std::size_t chunk_bytes_;
  const Clock::duration spin_for_;
  const bool spins_;
  std::vector<Peer> peers_;  // by rank; this rank's own has no lanes
  Fd alarm_;                 // an eventfd
  bool news_ = false;        // a data lane ended
  bool told_ = false;        // the peers know why this rank broke
  Clock::time_point idle_since_;
  std::vector<pollfd> polled_;    // by block()
  std::vector<pollfd> controls_;  // the control lanes by rank; poll passes over the negative ones
};

}  // namespace gradwire
