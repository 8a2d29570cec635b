// How ranks set something up together through their store: each makes its part and learns of the others'.
// Blocking; any thread, but the ranks must call in one order for each `what`.
#pragma once

#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/deadline.h"
#include "net/world.h"

namespace gradwire {

// Calls make() and publishes what it returns; returns what all ranks made, in rank order. When make() throws
// here, the other ranks learn why and throw TransportError too, instead of waiting for a rank that will not
// come.
std::vector<std::string> exchange(const World& world, std::string_view what, Deadline deadline,
                                  const std::function<std::string()>& make);

// Throws if rank `peer` has failed in the exchange of that name; returns at once.
void check_exchange(const World& world, std::string_view what, Rank peer);

}  // namespace gradwire
