// The entry of the module: see comm/modules.h.
#include "comm/modules.h"

namespace gradwire {

Collectives* gradwire_make_mpi(const World& world, const MpiOptions& options) {
  return make_mpi(world, options).release();
}

}  // namespace gradwire
