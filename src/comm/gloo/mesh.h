// Gloo's connections between the ranks of a world, made through the world's store.
#pragma once

#include <gloo/context.h>

#include <chrono>
#include <csignal>
#include <memory>

#include "base/held_signal.h"
#include "net/world.h"

namespace gradwire {

// Connects every pair of ranks; all ranks call it. Gloo's waits last the world's timeout. What goes wrong is
// thrown as Gloo or the store throw it.
std::shared_ptr<gloo::Context> connect_mesh(const World& world);

// Until every rank has come to this. One that left before would close connections that others still set up, which fails there.
void await_all_connected(const World&);

// As Gloo wants to have it.
std::chrono::milliseconds gloo_timeout(Seconds timeout);

// Makes every operation under way on the context, in any thread, fail soon, and closes its connections.
void break_off(gloo::Context& context) noexcept;

// Gloo writes to sockets without asking for no signal: while this exists, a write to a connection that its
// peer closed does not end the process, in this thread nor in threads it starts.
struct BrokenPipeGuard : HeldSignal {
  BrokenPipeGuard() : HeldSignal(SIGPIPE) {}
};

}  // namespace gradwire
