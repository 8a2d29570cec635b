#include "comm/make.h"

#include <algorithm>
#include <array>
#include <set>

#include "base/error.h"
#include "base/similar.h"
#include "base/text.h"
#include "comm/hierarchical/hierarchical.h"
#include "comm/inquiring.h"
#include "comm/modules.h"
#include "comm/queued.h"
#include "comm/scheduled/scheduled.h"
#include "comm/shm/shm.h"
#include "net/rendezvous/environment.h"
#include "net/tcp/tcp_transport.h"

namespace gradwire {
namespace {

enum class BackendFamily : std::uint8_t { automatic, shm, tcp, gloo, mpi, nccl };
constexpr std::array<std::string_view, 6> kFamilies = {"auto", "shm", "tcp", "gloo", "mpi", "nccl"};

// "shm+gloo:bcube:unchecked" is gloo with the setting bcube, whose ranks do not compare their calls, between hosts
// and shm inside each.
struct BackendSpec {
  BackendFamily family = BackendFamily::automatic;
  bool inside_too = false;  // shm inside each host
  bool checked = true;
  std::string setting;
};

[[noreturn]] void refuse(const std::string& backend) {
  throw ConfigError(fmt::format(
      "'{}' is not a backend: there are auto, shm, tcp, gloo, mpi, nccl, and shm+tcp, shm+gloo or shm+mpi{}",
      backend,
      did_you_mean(backend,
                   {"auto", "shm", "tcp", "gloo", "mpi", "nccl", "shm+tcp", "shm+gloo", "shm+mpi"})));
}

std::optional<int> find_device(const BackendSpec& spec) {
  if (spec.setting.empty()) return std::nullopt;
  const auto device = find_integer<int>(spec.setting);
  if (!device)
    throw ConfigError(fmt::format("nccl:{}: what follows the colon is the number of a GPU", spec.setting));
  return device;
}

GlooOptions gloo_options(const BackendSpec& spec) {
  GlooOptions options{.check = spec.checked};
  if (!spec.setting.empty()) options.algorithm = parse_gloo_algorithm(spec.setting);
  return options;
}

BackendSpec parse_family(const std::string& backend) {
  const auto parts = split(backend, ':');
  const auto found = std::ranges::find(kFamilies, parts[0]);
  if (found == kFamilies.end()) refuse(backend);
  BackendSpec spec{.family = static_cast<BackendFamily>(found - kFamilies.begin()), .setting = {}};
  for (std::size_t i = 1; i < parts.size(); ++i) {
    if (parts[i] == "unchecked")
      spec.checked = false;
    else
      spec.setting = parts[i];
  }
  switch (spec.family) {
    case BackendFamily::nccl:
      find_device(spec);
      break;
    case BackendFamily::gloo:
      gloo_options(spec);
      break;
    case BackendFamily::mpi:
      break;
    case BackendFamily::automatic:
    case BackendFamily::shm:
    case BackendFamily::tcp:
      if (parts.size() > 1) refuse(backend);
  }
  return spec;
}

BackendSpec parse_spec(const std::string& backend) {
  const auto plus = backend.find('+');
  if (plus == std::string::npos) return parse_family(backend);
  const std::string across = backend.substr(plus + 1);
  if (backend.substr(0, plus) != "shm" || across.starts_with("nccl") || across.starts_with("shm") ||
      across.find('+') != std::string::npos)
    refuse(backend);
  BackendSpec spec = parse_family(across);
  spec.inside_too = true;
  return spec;
}

std::unique_ptr<Collectives> make_tcp(const World& world) {
  return make_scheduled(make_tcp_transport(world),
                        {.name = "tcp", .timeout = world.timeout, .hosts = hosts_of(world)});
}

// Shared memory needs one host; several with one rank each need nothing but the network.
BackendSpec best_backend(const World& world) {
  const auto hosts = hosts_of(world);
  const std::size_t count = std::set(hosts.begin(), hosts.end()).size();
  return {.family = count == 1 ? BackendFamily::shm : BackendFamily::tcp,
          .inside_too = count > 1 && count < hosts.size(),
          .setting = {}};
}

std::unique_ptr<Collectives> make_shm_if_one_host(const World& world) {
  const auto hosts = hosts_of(world);
  if (std::any_of(hosts.begin(), hosts.end(), [](int host) { return host != 0; }))
    throw ConfigError("shm is for ranks of one host, and these are on several: take auto, tcp or shm+tcp");
  return make_shm(world);
}

std::unique_ptr<Collectives> make_family(const World& world, const BackendSpec& spec) {
  switch (spec.family) {
    case BackendFamily::shm:
      return make_shm_if_one_host(world);
    case BackendFamily::gloo:
      return open_gloo(world, gloo_options(spec));
    case BackendFamily::mpi:
      return open_mpi(world, {.check = spec.checked});
    case BackendFamily::automatic:  // between hosts
    case BackendFamily::tcp:
    case BackendFamily::nccl:  // it has no Collectives
      break;
  }
  return make_tcp(world);
}

std::unique_ptr<Collectives> make_collectives(const World& world, const BackendSpec& spec) {
  if (!spec.inside_too) return make_family(world, spec);
  return make_hierarchical(world, make_shm_if_one_host,
                           [&](const World& lane) { return make_family(lane, spec); });
}

std::unique_ptr<FlightRecorder> make_recorder(const Collectives& collectives) {
  const auto folder = find_variable(process_environment(), "GRADWIRE_FLIGHT_DIR");
  if (!folder) return std::make_unique<FlightRecorder>();
  return std::make_unique<FlightRecorder>(*folder, collectives.rank(), collectives.size(),
                                          collectives.name());
}

}  // namespace

void check_backend(const std::string& backend) { parse_spec(backend); }

bool works_in_caller(const std::string& backend) {
  const auto family = parse_spec(backend).family;
  return family == BackendFamily::shm || family == BackendFamily::tcp;
}

bool moves_gpu_memory(const std::string& backend) {
  return parse_spec(backend).family == BackendFamily::nccl;
}

std::unique_ptr<Communicator> make_communicator(const World& world, const std::string& backend) {
  const BackendSpec spec = parse_spec(backend);
  if (spec.family == BackendFamily::nccl) return open_nccl(world, {.device = find_device(spec)});
  const bool choose = spec.family == BackendFamily::automatic && !spec.inside_too;
  auto collectives =
      make_inquiring(world, [&] { return make_collectives(world, choose ? best_backend(world) : spec); });
  auto recorder = make_recorder(*collectives);
  return std::make_unique<Queued>(std::move(collectives), std::move(recorder));
}

}  // namespace gradwire
