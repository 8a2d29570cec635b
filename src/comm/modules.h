// The backends that need a library not everybody has: which module (base/module.h) each is, and what is said
// where it is not there. Each is opened when a communicator of its kind is made.
#pragma once

#include <cstdint>
#include <memory>

#include "comm/communicator.h"
#include "comm/gloo/gloo.h"
#include "comm/mpi/mpi.h"
#include "comm/nccl/nccl.h"
#include "net/rendezvous/environment.h"
#include "net/world.h"

namespace gradwire {

// make_gloo(), make_mpi() and make_nccl() of the module.
std::unique_ptr<Collectives> open_gloo(const World& world, const GlooOptions& options = {});
std::unique_ptr<Collectives> open_mpi(const World& world, const MpiOptions& options = {});
std::unique_ptr<Communicator> open_nccl(const World& world, const NcclOptions& options = {});

enum class BackendModule : std::uint8_t { gloo, open_mpi, mpich, nccl };

// MPICH for a process that its mpirun started, or another that speaks its protocol; else Open MPI.
BackendModule mpi_module(const Environment& environment);

// Throws ConfigError with what to install when there is no such module. Whether its library is there too is found out
// by opening it.
void check_module(BackendModule module);

// The entries of the modules, which give away what they make.
extern "C" {
Collectives* gradwire_make_gloo(const World& world, const GlooOptions& options);
Collectives* gradwire_make_mpi(const World& world, const MpiOptions& options);
Communicator* gradwire_make_nccl(const World& world, const NcclOptions& options);
}

}  // namespace gradwire
