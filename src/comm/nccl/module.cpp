// The entry of the module: see comm/modules.h.
#include "comm/modules.h"

namespace gradwire {

Communicator* gradwire_make_nccl(const World& world, const NcclOptions& options) {
  return make_nccl(world, options).release();
}

}  // namespace gradwire
