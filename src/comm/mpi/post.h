// Messages between two ranks by MPI, with a deadline, which MPI does not have: everything is posted and asked after. Before each
// message goes its signature, unless nothing is to be checked. A rank that gives up sends the others a notice, which those that
// wait for messages look for. One call of exchange() an object; one thread.
#pragma once

#include <mpi.h>

#include <atomic>
#include <list>
#include <set>
#include <span>
#include <string>
#include <vector>

#include "base/deadline.h"
#include "comm/collectives.h"
#include "comm/mpi/watchdog.h"
#include "net/world.h"

namespace gradwire {

struct MpiCall {
  Signature signature;
  Seconds timeout;
  const std::atomic<bool>& cancelled;
};

class MpiPost {
 public:
  static constexpr Seconds kLookEvery = 0.1;  // for ranks that are dead

  MpiPost(const World& world, MPI_Comm group, const MpiWatchdog& watchdog, bool check)
      : world_(world), group_(group), watchdog_(watchdog), check_(check) {}
  ~MpiPost();  // what is still under way when something was thrown is left to MPI
  MpiPost(const MpiPost&) = delete;
  MpiPost& operator=(const MpiPost&) = delete;

  // Throws Mismatch, PeerLost naming a rank whose process is gone, Timeout naming who was waited for, Cancelled, and what
  // another rank gave up for.
  void exchange(std::span<const Message> messages, const MpiCall& call);

 private:
  struct Letter {
    Rank peer = 0;
    Signature mine, theirs;
    std::span<std::byte> bytes;
    bool receives = false;
    MPI_Request head = MPI_REQUEST_NULL;
    std::vector<MPI_Request> body = {};
  };
  void begin(Letter& letter);
  void begin_body(Letter& letter);
  bool advance(Letter& letter, std::set<Rank>& slow);
  void check_patience(const MpiCall& call, Deadline deadline);
  void look_for_notices() const;
  void look_for_the_dead(const MpiCall& call);
  Rank name(Rank rank) const { return world_.global(rank); }

  const World& world_;
  const MPI_Comm group_;
  const MpiWatchdog& watchdog_;
  const bool check_;
  Deadline next_look_ = Deadline::after(kLookEvery);
  std::list<Letter> letters_;  // which stay where they are: MPI writes into them
};

// Sends every other rank a notice of why this one gives up; waits for nobody.
void tell_everybody(const World& world, MPI_Comm group, const std::exception& why) noexcept;

}  // namespace gradwire
