// Collectives by libgloo, as PyTorch's "gloo" backend runs them: TCP between all ranks, also on one host.
//
// Gloo moves bytes in a thread of its own; an object here belongs to one thread at a time, except cancel().
// Reductions are computed by our kernels, which Gloo lacks for some types. After an exception Gloo's
// connections are closed and every later call throws. Ranks find each other through the world's store and
// listen on its interface; Gloo itself proves nothing to its peers, so beyond loopback it wants a world that
// trusts its network.
#pragma once

#include <memory>
#include <string_view>

#include "comm/collectives.h"
#include "net/world.h"

namespace gradwire {

// How Gloo does an all-reduce. Its default is `ring`, which is what PyTorch uses; the last four are its older
// classes, which prepare their buffers once and are faster when the same memory is reduced again and again.
// With classic_ring every rank adds in an order of its own: from three ranks on, sums differ in their last
// bits.
enum class GlooAlgorithm { ring, bcube, halving_doubling, ring_chunked, classic_ring, classic_bcube };
GlooAlgorithm parse_gloo_algorithm(std::string_view name);  // throws ConfigError listing what there is
std::string_view name_of(GlooAlgorithm);

struct GlooOptions {
  GlooAlgorithm algorithm = GlooAlgorithm::ring;

  // Ranks tell each other what they are about to do before every call, so that a Mismatch shows both sides
  // where Gloo would hang, crash or give a wrong sum, and when they are done with it, so that nobody goes
  // away too soon. Costs about one small message each way. Without it the ranks promise to agree in
  // everything; with the older classes also on whether a call uses the memory of the one before; and to keep
  // their communicators until all have returned from the last call.
  bool check = true;
};

// All ranks call it. Throws Timeout and PeerLost naming who did not come.
std::unique_ptr<Collectives> make_gloo(const World& world, const GlooOptions& options = {});

}  // namespace gradwire
