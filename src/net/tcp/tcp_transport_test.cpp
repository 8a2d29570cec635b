#include "net/tcp/tcp_transport.h"

#include "net/transport_conformance.h"

namespace gradwire {
namespace {

std::unique_ptr<Transport> make(const World& world) { return make_tcp_transport(world); }
std::unique_ptr<Transport> make_striped(const World& world) {
  return make_tcp_transport(world, {.sockets = 3});
}

INSTANTIATE_TEST_SUITE_P(Tcp, TransportConformance, as_threads_and_processes(make), name_of_case);
INSTANTIATE_TEST_SUITE_P(Tcp, TransportFaults, as_processes(make), name_of_case);
INSTANTIATE_TEST_SUITE_P(TcpOfThreeSockets, TransportConformance, as_threads_and_processes(make_striped),
                         name_of_case);
INSTANTIATE_TEST_SUITE_P(TcpOfThreeSockets, TransportFaults, as_processes(make_striped), name_of_case);

}  // namespace
}  // namespace gradwire
