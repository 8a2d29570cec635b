// Collectives whose timeouts name who is to blame, not only who was waited for (net/blame.h).
#pragma once

#include <functional>
#include <memory>

#include "comm/collectives.h"
#include "net/world.h"

namespace gradwire {

// All ranks of the world call it; `make` makes the collectives themselves.
std::unique_ptr<Collectives> make_inquiring(const World& world,
                                            const std::function<std::unique_ptr<Collectives>()>& make);

}  // namespace gradwire
