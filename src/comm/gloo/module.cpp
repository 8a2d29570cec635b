// The entry of the module: see comm/modules.h.
#include "comm/modules.h"

namespace gradwire {

Collectives* gradwire_make_gloo(const World& world, const GlooOptions& options) {
  return make_gloo(world, options).release();
}

}  // namespace gradwire
