#include "comm/make.h"

#include <algorithm>

#include "base/error.h"
#include "base/text.h"
#include "comm/hierarchical/hierarchical.h"
#include "comm/queued.h"
#include "comm/scheduled/scheduled.h"
#include "comm/shm/shm.h"
#include "net/tcp/tcp_transport.h"

namespace gradwire {
namespace {

std::unique_ptr<Collectives> make_collectives(const World& world, const std::string& backend) {
  if (backend == "shm") return make_shm(world);
  if (backend == "tcp") return make_scheduled(make_tcp_transport(world), {.name = "tcp", .timeout = world.timeout});
  throw ConfigError(fmt::format("'{}' is not a backend", backend));
}

}  // namespace

std::unique_ptr<Communicator> make_communicator(const World& world, const std::string& backend) {
  return std::make_unique<Queued>(make_collectives(world, backend));
}

}  // namespace gradwire
