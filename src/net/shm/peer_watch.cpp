#include "net/shm/peer_watch.h"

#include <sys/syscall.h>
#include <unistd.h>

#include <cerrno>

#include "base/deadline.h"
#include "base/error.h"

namespace gradwire {

PeerWatch::PeerWatch(std::span<const pid_t> processes, const RankNames& names) {
  for (std::size_t rank = 0; rank < processes.size(); ++rank) {
    const pid_t process = processes[rank];
    Fd descriptor;
    if (process != 0 && process != getpid()) {
      descriptor.reset(static_cast<int>(syscall(SYS_pidfd_open, process, 0)));
      if (!descriptor && errno == ESRCH)
        throw PeerLost(
            names.of(static_cast<Rank>(rank)),
            fmt::format(
                "rank {} (process {}) has ended, or is in another pid namespace (containers: --pid=host)",
                names.of(static_cast<Rank>(rank)), process));
      if (!descriptor) throw_system_error(fmt::format("pidfd_open of rank {} (process {})", rank, process));
    }
    polled_.push_back({descriptor.get(), POLLIN, 0});
    processes_.push_back(std::move(descriptor));
  }
}

std::optional<Rank> PeerWatch::find_dead() {
  if (poll(polled_.data(), polled_.size(), 0) <= 0) return std::nullopt;
  for (std::size_t rank = 0; rank < polled_.size(); ++rank)
    if (polled_[rank].revents != 0) return static_cast<Rank>(rank);
  return std::nullopt;
}

bool PeerWatch::is_dead(Rank peer) const {
  pollfd one = polled_[static_cast<std::size_t>(peer)];
  return one.fd >= 0 && poll(&one, 1, 0) > 0;
}

bool PeerWatch::dies_within(Rank peer, Seconds time) const {
  pollfd one = polled_[static_cast<std::size_t>(peer)];
  return one.fd >= 0 && poll(&one, 1, Deadline::after(time).remaining_ms()) > 0;
}

// A process that ends closes its files a little before its end can be seen.
Segment open_segment_of(Rank owner, const SegmentName& name, int colour, const WatchedPeers& peers) {
  constexpr Seconds kForTheEndToShow = 1;
  try {
    return Segment::open(name, colour);
  } catch (const PeerLost&) {
    throw;
  } catch (const TransportError&) {
    if (!peers.watch.dies_within(owner, kForTheEndToShow)) throw;
    throw PeerLost(peers.names.of(owner),
                   fmt::format("rank {} died before rank {} could open its shared memory",
                               peers.names.of(owner), peers.names.me()));
  }
}

void PeerWatch::forget(Rank peer) {
  polled_[static_cast<std::size_t>(peer)].fd = -1;
  processes_[static_cast<std::size_t>(peer)].reset();
}

}  // namespace gradwire
