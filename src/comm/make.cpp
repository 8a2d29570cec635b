#include "comm/make.h"

#include <algorithm>
#include <set>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"
#include "comm/hierarchical/hierarchical.h"
#include "comm/modules.h"
#include "comm/queued.h"
#include "comm/scheduled/scheduled.h"
#include "comm/shm/shm.h"
#include "net/rendezvous/environment.h"
#include "net/tcp/tcp_transport.h"

namespace gradwire {
namespace {

// "gloo:bcube:unchecked" is the backend gloo with the setting bcube, whose ranks do not compare their calls.
struct Spec {
  std::string family, setting;
  bool checked = true;

  explicit Spec(const std::string& text) {
    const auto parts = split(text, ':');
    family = parts[0];
    for (std::size_t i = 1; i < parts.size(); ++i) {
      if (parts[i] == "unchecked")
        checked = false;
      else
        setting = parts[i];
    }
  }
};

[[noreturn]] void refuse(const std::string& backend) {
  throw ConfigError(fmt::format(
      "'{}' is not a backend: there are auto, shm, tcp, gloo, mpi, nccl, and shm+tcp, shm+gloo or shm+mpi{}",
      backend,
      did_you_mean(backend,
                   {"auto", "shm", "tcp", "gloo", "mpi", "nccl", "shm+tcp", "shm+gloo", "shm+mpi"})));
}

std::optional<int> find_device(const Spec& spec) {
  if (spec.setting.empty()) return std::nullopt;
  const auto device = find_integer<int>(spec.setting);
  if (!device)
    throw ConfigError(fmt::format("nccl:{}: what follows the colon is the number of a GPU", spec.setting));
  return device;
}

GlooOptions gloo_options(const Spec& spec) {
  GlooOptions options{.check = spec.checked};
  if (!spec.setting.empty()) options.algorithm = parse_gloo_algorithm(spec.setting);
  return options;
}

std::unique_ptr<Collectives> make_tcp(const World& world) {
  return make_scheduled(make_tcp_transport(world),
                        {.name = "tcp", .timeout = world.timeout, .hosts = hosts_of(world)});
}

// Shared memory needs one host; several with one rank each need nothing but the network.
std::string best_backend(const World& world) {
  const auto hosts = hosts_of(world);
  const std::size_t count = std::set(hosts.begin(), hosts.end()).size();
  return count == 1 ? "shm" : count == hosts.size() ? "tcp" : "shm+tcp";
}

std::unique_ptr<Collectives> make_shm_if_one_host(const World& world) {
  const auto hosts = hosts_of(world);
  if (std::any_of(hosts.begin(), hosts.end(), [](int host) { return host != 0; }))
    throw ConfigError("shm is for ranks of one host, and these are on several: take auto, tcp or shm+tcp");
  return make_shm(world);
}

std::unique_ptr<Collectives> make_collectives(const World& world, const std::string& backend) {
  if (const auto plus = backend.find('+'); plus != std::string::npos)
    return make_hierarchical(world, make_shm_if_one_host, [&](const World& lane) {
      return make_collectives(lane, backend.substr(plus + 1));
    });
  const Spec spec(backend);
  if (spec.family == "mpi") return open_mpi(world, {.check = spec.checked});
  if (spec.family == "gloo") return open_gloo(world, gloo_options(spec));
  return backend == "shm" ? make_shm_if_one_host(world) : make_tcp(world);
}

std::unique_ptr<FlightRecorder> make_recorder(const Collectives& collectives) {
  const auto folder = find_variable(process_environment(), "GRADWIRE_FLIGHT_DIR");
  if (!folder) return std::make_unique<FlightRecorder>();
  return std::make_unique<FlightRecorder>(*folder, collectives.rank(), collectives.size(),
                                          collectives.name());
}

}  // namespace

void check_backend(const std::string& backend) {
  if (const auto plus = backend.find('+'); plus != std::string::npos) {
    const std::string across = backend.substr(plus + 1);
    if (backend.substr(0, plus) != "shm" || across.starts_with("nccl") || across.starts_with("shm"))
      refuse(backend);
    return check_backend(across);
  }
  const Spec spec(backend);
  if (spec.family == "nccl")
    find_device(spec);
  else if (spec.family == "gloo")
    gloo_options(spec);
  else if (spec.family != "mpi" && backend != "shm" && backend != "tcp" && backend != "auto")
    refuse(backend);
}

std::unique_ptr<Communicator> make_communicator(const World& world, const std::string& backend) {
  check_backend(backend);
  const Spec spec(backend);
  if (spec.family == "nccl") return open_nccl(world, {.device = find_device(spec)});
  auto collectives = make_collectives(world, backend == "auto" ? best_backend(world) : backend);
  auto recorder = make_recorder(*collectives);
  return std::make_unique<Queued>(std::move(collectives), std::move(recorder));
}

}  // namespace gradwire
