#include "net/shm/shm_transport.h"

#include "net/transport_conformance.h"

namespace gradwire {

INSTANTIATE_TEST_SUITE_P(Shm, TransportConformance,
                         conformance_of("shm", [](const World& world) { return make_shm_transport(world); }),
                         name_of_case);

}  // namespace gradwire
