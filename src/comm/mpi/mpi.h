// Collectives by MPI's own algorithms, in a program that mpirun started. Rank and size of the world must be
// MPI's.
//
// MPI is initialised by the first of these in a process, unless the program has, and finalised when the process exits. One
// thread at a time calls each; several of them call MPI at once, and ConfigError refuses a second where MPI gives less than
// MPI_THREAD_MULTIPLE. MPI has no way out of a call whose peer is gone: mpirun ends the whole job then.
#pragma once

#include <memory>

#include "comm/collectives.h"
#include "net/world.h"

namespace gradwire {

struct MpiOptions {
  // Ranks compare what they are about to do before every call: a Mismatch shows both sides where MPI would
  // hang or give a wrong sum. Costs an all-gather of 24 bytes.
  bool check = true;
};

// A world that is a part of MPI's (World::members) gets a communicator of its own; all its ranks call it.
std::unique_ptr<Collectives> make_mpi(const World& world, const MpiOptions& options = {});

}  // namespace gradwire
