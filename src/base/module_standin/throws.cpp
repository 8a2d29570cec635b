// What a module may do that its caller must be able to catch.
#include "base/error.h"

extern "C" void gradwire_throw_peer_lost(int peer) { throw gradwire::PeerLost(peer, "rank 3 is gone"); }
extern "C" void gradwire_throw_config_error() { throw gradwire::ConfigError("not like this"); }
