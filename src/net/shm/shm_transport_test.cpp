#include "net/shm/shm_transport.h"

#include "net/transport_conformance.h"

namespace gradwire {
namespace {

std::unique_ptr<Transport> make(const World& world) { return make_shm_transport(world); }

INSTANTIATE_TEST_SUITE_P(Shm, TransportConformance, as_threads_and_processes(make), name_of_case);
INSTANTIATE_TEST_SUITE_P(Shm, TransportFaults, as_processes(make), name_of_case);

}  // namespace
}  // namespace gradwire
