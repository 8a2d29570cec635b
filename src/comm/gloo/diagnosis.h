// Why Gloo failed, in terms of ranks. Gloo's errors tell of a socket that closed or a wait that took too
// long, and one rank's trouble makes all others fail after it; so the ranks put what they saw into the store,
// and each looks there who is lost and who says nothing at all.
#pragma once

#include <exception>
#include <string>
#include <vector>

#include "net/world.h"

namespace gradwire {

struct GlooFailure {
  std::string during;              // "call 3: all_reduce of 4096 bytes, f32, sum"
  std::string text;                // Gloo's
  bool timed_out = false;          // here; it may be elsewhere that the trouble began
  std::vector<Rank> awaited = {};  // who was waited for, where that is known
};

// Says why this rank gives up, for those who fail because of it.
void tell_gloo_fault(const World& world, const std::exception& error) noexcept;

// Throws PeerLost, Timeout or TransportError naming the rank at fault; takes at most about half a second, and a second
// where the store is out of reach.
[[noreturn]] void raise_gloo_failure(const World& world, const GlooFailure& failure);

}  // namespace gradwire
