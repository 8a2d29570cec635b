#include "net/tcp/tcp_transport.h"

#include "net/transport_conformance.h"

namespace gradwire {

INSTANTIATE_TEST_SUITE_P(Tcp, TransportConformance,
                         conformance_of("tcp", [](const World& world) { return make_tcp_transport(world); }),
                         name_of_case);

INSTANTIATE_TEST_SUITE_P(
    TcpOfThreeSockets, TransportConformance,
    conformance_of("tcp", [](const World& world) { return make_tcp_transport(world, {.sockets = 3}); }),
    name_of_case);

}  // namespace gradwire
