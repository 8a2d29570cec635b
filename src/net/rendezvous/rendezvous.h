// How ranks find each other: join() makes a World of what a URL says, leave() says goodbye.
//
//   env://                         the environment tells, see environment.h
//   tcp://HOST:PORT?rank=R&size=N  rank 0 hosts the store there; the secret as under env://
//   file:///PATH?rank=R&size=N     rank 0 hosts the store on some port and writes where it is, and
//                                  the secret, to a file that only the user can read and that goes
//                                  with the World
//
// In all of them GRADWIRE_TIMEOUT and GRADWIRE_INTERFACE count where the options say nothing, and
// GRADWIRE_TRUST_NETWORK=1. Without an interface ranks listen on loopback when that is where the store is, else on the address that leads to it.
//
// A World keeps its store alive, and on the rank that hosts it the server too. Ranks that end without leave()
// count as lost, which is right for those that fail and does no harm after the last collective.
#pragma once

#include <cstdint>
#include <optional>
#include <string>

#include "net/rendezvous/environment.h"
#include "net/world.h"

namespace gradwire {

struct JoinOptions {
  std::optional<Rank> rank = {};  // these two where the URL says none
  std::optional<int> size = {};
  std::string interface = {};
  std::optional<Seconds> timeout = {};
  Environment environment = process_environment();
};

// Throws ConfigError naming the variable or the part of the URL that is wrong, or the rank that two processes
// claim; Timeout naming who did not come.
World join(const std::string& url = "env://", const JoinOptions& options = {});

// After the last call of a rank that ends well; a collective: returns when all ranks of the job have called it,
// and throws Timeout or PeerLost naming one that does not. After it the end of a rank is no loss to anyone,
// however it ends. The rank that hosts the store waits until all others need it no more.
//
// A rank that was told to end before its work was done leaves it unfinished: then its end counts for what it is.
enum class Leaving : std::uint8_t { done, unfinished };
void leave(const World& world, Leaving how = Leaving::done);

}  // namespace gradwire
