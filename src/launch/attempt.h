// One attempt of a job on this node: its ranks from start to end, beside those of the other nodes. Signals are passed on to them,
// and heard also while the store that the launchers share says nothing.
#pragma once

#include <optional>

#include "launch/council.h"
#include "launch/launcher.h"
#include "launch/signal_watch.h"

namespace gradwire {

// How it ended, on all nodes; nothing: well. Throws ConfigError when this node can't even begin, TransportError when the
// others are out of reach.
std::optional<Failure> run_attempt(const LaunchOptions& options, Council& council, const Seating& seating,
                                   SignalWatch& signals);

}  // namespace gradwire
