#include "base/error.h"
#include "comm/mpi/mpi.h"

namespace gradwire {

std::unique_ptr<Collectives> make_mpi(const World&, const MpiOptions&) {
  throw ConfigError(
      "this build has no MPI: install libopenmpi-dev and openmpi-bin, configure and build again");
}

}  // namespace gradwire
