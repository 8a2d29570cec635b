// Notices that the process of a peer on this host has ended, however it ended.
//
// Holds a process descriptor for each peer, which the kernel never gives to another process. Open the watch
// first and the peers' segments after it: a segment that opens proves that the descriptor is the right
// process. Peers that are threads of this process are never found dead. Belongs to one thread at a time.
#pragma once

#include <poll.h>
#include <sys/types.h>

#include <optional>
#include <span>
#include <vector>

#include "base/fd.h"
#include "base/units.h"
#include "net/shm/segment.h"
#include "net/world.h"

namespace gradwire {

class PeerWatch {
 public:
  PeerWatch() = default;  // watches nobody
  // processes[r] is rank r's; 0 for a rank that is not to be watched. Throws PeerLost when one is gone
  // already.
  explicit PeerWatch(std::span<const pid_t> processes, const RankNames& names = {});

  // A rank whose process has ended, if any. One system call; meant for every few hundred microseconds of
  // waiting.
  std::optional<Rank> find_dead();
  bool is_dead(Rank peer) const;
  bool dies_within(Rank peer, Seconds time) const;  // waits so long for it
  void forget(Rank peer);                           // it may end from now on

 private:
  std::vector<Fd> processes_;
  std::vector<pollfd> polled_;  // by rank; poll passes over the negative ones
};

struct WatchedPeers {
  const PeerWatch& watch;
  RankNames names;  // what errors call them
};

// A segment that a peer owns, opened here. When that fails because the peer has died the error is a PeerLost
// that says so, not advice about containers.
Segment open_segment_of(Rank owner, const SegmentName& name, int colour, const WatchedPeers& peers);

}  // namespace gradwire
