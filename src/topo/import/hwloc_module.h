// The entry of the module hwloc (base/module.h): processors, caches and memory of this machine.
#pragma once

#include "topo/import/this_machine.h"

namespace gradwire {

extern "C" void gradwire_read_processor(Host& host);  // fills in numa_nodes, cpu_* and facts

}  // namespace gradwire
