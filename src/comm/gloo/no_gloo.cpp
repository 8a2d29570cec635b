#include "base/error.h"
#include "comm/gloo/gloo.h"

namespace gradwire {

std::unique_ptr<Collectives> make_gloo(const World&, const GlooOptions&) {
  throw ConfigError(
      "this gradwire was built without Gloo: apt-get install libgloo-dev, configure and build again");
}

}  // namespace gradwire
