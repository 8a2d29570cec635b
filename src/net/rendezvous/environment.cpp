#include "net/rendezvous/environment.h"

#include <unistd.h>

#include <array>
#include <vector>

#include "base/error.h"
#include "base/text.h"

namespace gradwire {
namespace {

// The variables in which a starter of processes says who is who. Of several sizes the first that is set
// counts.
struct Starter {
  StartedBy name;
  const char* rank;
  std::vector<const char*> sizes;
  const char* local_rank;
  const char* local_size;
  std::vector<const char*> jobs;
};

const std::vector<Starter>& starters() {
  static const std::vector<Starter> all = {
      {StartedBy::environment, "RANK", {"WORLD_SIZE"}, "LOCAL_RANK", "LOCAL_WORLD_SIZE", {}},
      {StartedBy::open_mpi,
       "OMPI_COMM_WORLD_RANK",
       {"OMPI_COMM_WORLD_SIZE"},
       "OMPI_COMM_WORLD_LOCAL_RANK",
       "OMPI_COMM_WORLD_LOCAL_SIZE",
       {"PMIX_NAMESPACE", "OMPI_MCA_ess_base_jobid"}},
      {StartedBy::mpich, "PMI_RANK", {"PMI_SIZE"}, "MPI_LOCALRANKID", "MPI_LOCALNRANKS", {"PMI_JOBID"}},
      {StartedBy::slurm,
       "SLURM_PROCID",
       {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS", "SLURM_NPROCS"},
       "SLURM_LOCALID",
       nullptr,
       {"SLURM_JOB_ID", "SLURM_JOBID"}},
  };
  return all;
}

std::optional<int> find_count(const Environment& environment, const char* name, int least) {
  if (name == nullptr) return std::nullopt;
  const auto text = find_variable(environment, name);
  if (!text) return std::nullopt;
  const auto value = find_integer<int>(*text);
  if (!value || *value < least)
    throw ConfigError(fmt::format("{}={} is not right: write an integer from {} up", name, *text, least));
  return value;
}

const char* first_set(const Environment& environment, const std::vector<const char*>& names) {
  for (const char* name : names)
    if (find_variable(environment, name)) return name;
  return nullptr;
}

void check_below(const char* name, int value, const char* limit_name, int limit) {
  if (value >= limit)
    throw ConfigError(fmt::format("{}={} contradicts {}={}: write {} from 0 to {}", name, value, limit_name,
                                  limit, name, limit - 1));
}

void read_local(const Environment& environment, const Starter& starter, Placement& placement) {
  placement.local_rank = find_count(environment, starter.local_rank, 0);
  placement.local_size = find_count(environment, starter.local_size, 1);
  if (!placement.local_size) return;
  if (*placement.local_size > placement.size)
    throw ConfigError(fmt::format("{}={} contradicts the size {}: a host has no more ranks than the world",
                                  starter.local_size, *placement.local_size, placement.size));
  if (placement.local_rank)
    check_below(starter.local_rank, *placement.local_rank, starter.local_size, *placement.local_size);
}

Placement read_ranks(const Environment& environment, const Starter& starter) {
  Placement placement;
  placement.starter = starter.name;
  placement.rank = find_count(environment, starter.rank, 0).value();
  const char* size_name = first_set(environment, starter.sizes);
  if (size_name == nullptr)
    throw ConfigError(fmt::format("{}={} is set but {} is not: set it to the number of ranks", starter.rank,
                                  placement.rank, starter.sizes.front()));
  placement.size = find_count(environment, size_name, 1).value();
  check_below(starter.rank, placement.rank, size_name, placement.size);
  read_local(environment, starter, placement);
  if (const char* job = first_set(environment, starter.jobs))
    placement.job = *find_variable(environment, job);
  return placement;
}

// A RANK left over in a shell makes every process that mpirun starts the same rank.
void check_agreement(const Environment& environment, const Starter& chosen, const Placement& placement) {
  if (find_variable(environment, "GRADWIRE_STORE") || find_variable(environment, "TORCHELASTIC_RUN_ID"))
    return;
  for (const auto& other : starters()) {
    const bool counts = &other != &chosen && other.name != StartedBy::slurm;
    const auto rank = counts ? find_count(environment, other.rank, 0) : std::nullopt;
    if (rank && *rank != placement.rank)
      throw ConfigError(fmt::format("{}={} contradicts {}={}: unset one of them", chosen.rank, placement.rank,
                                    other.rank, *rank));
  }
}

const Starter& choose_starter(const Environment& environment) {
  for (const auto& starter : starters())
    if (find_variable(environment, starter.rank)) return starter;
  const auto size = find_variable(environment, "WORLD_SIZE");
  throw ConfigError(fmt::format(
      "RANK is not set{}: start the program with `gradwire run -n 2 -- PROGRAM`, torchrun, mpirun or srun, "
      "or set RANK, WORLD_SIZE, MASTER_ADDR and MASTER_PORT",
      size ? fmt::format(" but WORLD_SIZE={} is", *size) : ""));
}

void read_launchers_store(const std::string& text, Placement& placement) {
  const auto slash = text.find('/');
  placement.hosted = true;
  if (slash != std::string::npos) placement.space = text.substr(slash + 1);
  try {
    placement.store = parse_host_port(std::string_view(text).substr(0, slash));
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("GRADWIRE_STORE={}: {}", text, error.what()));
  }
}

// Ports below those the system gives out by itself, spread over jobs (the FNV-1a hash).
std::uint16_t port_of_job(std::string_view job) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : job) hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return static_cast<std::uint16_t>(20000 + hash % 10000);
}

std::string master_host(const Environment& environment, const Placement& placement) {
  if (auto host = find_variable(environment, "MASTER_ADDR")) return *host;
  if (placement.local_size == placement.size) return "127.0.0.1";
  if (placement.starter == StartedBy::slurm) {
    const char* list =
        first_set(environment, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"});
    if (list != nullptr) return first_host(*find_variable(environment, list));
  }
  throw ConfigError(
      fmt::format("MASTER_ADDR is not set: set it to the host of rank 0 on all {} ranks{}", placement.size,
                  placement.starter == StartedBy::open_mpi ? ", as in mpirun -x MASTER_ADDR=node1" : ""));
}

std::uint16_t master_port(const Environment& environment, const Placement& placement) {
  const auto text = find_variable(environment, "MASTER_PORT");
  if (!text && !placement.job.empty()) return port_of_job(placement.job);
  if (!text && placement.starter == StartedBy::mpich) return 29500;
  if (!text)
    throw ConfigError(
        "MASTER_PORT is not set: set it on all ranks to a free port of rank 0's host, as 29500");
  const auto port = find_integer<std::uint16_t>(*text);
  const bool agent = find_variable(environment, "TORCHELASTIC_USE_AGENT_STORE") == "True";
  if (!port || *port == 0 || (agent && *port == 65535))
    throw ConfigError(
        fmt::format("MASTER_PORT={} is not right: write a port from 1 to {}", *text, agent ? 65534 : 65535));
  return static_cast<std::uint16_t>(*port + (agent ? 1 : 0));
}

}  // namespace

std::string first_host(std::string_view list) {
  std::string host;
  for (std::size_t i = 0; i < list.size() && list[i] != ',';) {
    if (list[i] != '[') {
      host += list[i++];
      continue;
    }
    const auto close = list.find(']', i);
    const auto first = list.substr(i + 1, list.find_first_of("-,]", i) - i - 1);
    if (close == std::string_view::npos || first.empty())
      throw ConfigError(fmt::format("Slurm's list of hosts '{}' is not understood: set MASTER_ADDR", list));
    host += first;
    i = close + 1;
  }
  if (host.empty()) throw ConfigError("Slurm's list of hosts is empty: set MASTER_ADDR");
  return host;
}

Environment process_environment() {
  Environment environment;
  for (char** entry = environ; *entry != nullptr; ++entry) {
    const std::string_view text(*entry);
    const auto equals = text.find('=');
    if (equals != std::string_view::npos)
      environment.emplace(text.substr(0, equals), text.substr(equals + 1));
  }
  return environment;
}

std::optional<std::string> find_variable(const Environment& environment, std::string_view name) {
  const auto found = environment.find(name);
  if (found == environment.end() || found->second.empty()) return std::nullopt;
  return found->second;
}

Placement read_placement(const Environment& environment) {
  const auto& starter = choose_starter(environment);
  Placement placement = read_ranks(environment, starter);
  check_agreement(environment, starter, placement);
  if (const auto store = find_variable(environment, "GRADWIRE_STORE"))
    read_launchers_store(*store, placement);
  else if (placement.size > 1)
    placement.store = HostPort{master_host(environment, placement), master_port(environment, placement)};
  return placement;
}

bool is_one_of_several(const Environment& environment) {
  const bool named = find_variable(environment, "RANK") ||
                     find_variable(environment, "OMPI_COMM_WORLD_RANK") ||
                     find_variable(environment, "PMI_RANK") || find_variable(environment, "SLURM_PROCID");
  return named && read_placement(environment).size > 1;
}

Seconds read_timeout(const Environment& environment) {
  const auto text = find_variable(environment, "GRADWIRE_TIMEOUT");
  if (!text) return 300;
  try {
    return parse_seconds(*text);
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("GRADWIRE_TIMEOUT={}: {}", *text, error.what()));
  }
}

}  // namespace gradwire
