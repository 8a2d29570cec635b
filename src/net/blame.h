// Who is to blame for a wait that has lasted too long: the rank waited for may wait itself, for one that is stopped. So each rank
// that loses patience says in the store for whom it waited, and follows what the others say to those who say nothing.
// Blocking; any thread.
#pragma once

#include "net/overdue.h"
#include "net/world.h"

namespace gradwire {

// The same error with what the others say added to its text, and those who are to blame as the ones awaited. Takes at most
// about a second, also where the store is out of reach.
Overdue look_through(const World& world, const Timeout& own);

// What this rank said before counts no more. Before a communicator is made.
void forget_waits(const World& world);

}  // namespace gradwire
