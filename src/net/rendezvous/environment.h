// Where a rank stands, as the environment of its process tells: what our own launcher, torchrun, Open MPI,
// MPICH and Slurm set. Environments are values here, so that reading one is a pure function.
//
// Read in this order:
//   rank and size   RANK and WORLD_SIZE; else OMPI_COMM_WORLD_*, PMI_*, SLURM_PROCID and SLURM_NTASKS
//   the store       GRADWIRE_STORE, hosted by a launcher; else MASTER_ADDR and MASTER_PORT, hosted by rank 0
//                   (one port further under torchrun, whose agent keeps MASTER_PORT for itself); else what
//                   the starter tells: this host when all ranks are on it, the first host of Slurm's list,
//                   and a port drawn from the job's number
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <string>

#include "base/units.h"
#include "net/address/address.h"

namespace gradwire {

using Environment = std::map<std::string, std::string, std::less<>>;

Environment process_environment();  // a copy of this process's own

enum class StartedBy : std::uint8_t {
  environment,
  open_mpi,
  mpich,
  slurm
};  // environment: RANK and WORLD_SIZE

struct Placement {
  Rank rank = 0;
  int size = 1;
  std::optional<int> local_rank, local_size;
  StartedBy starter = StartedBy::environment;
  std::optional<HostPort> store;  // none: a world of one needs no other
  bool hosted = false;            // a launcher hosts the store; otherwise rank 0 does
  std::string space;              // the job's set of keys in that store
  std::string job;                // what distinguishes the job from others of the same user, where known
};

// Throws ConfigError naming the variable, its value and what would be right.
Placement read_placement(const Environment& environment);

// Whether a launcher, ours or another, started this process as one of several ranks. Throws as the above.
bool is_one_of_several(const Environment& environment);

// GRADWIRE_TIMEOUT, or 300 s.
Seconds read_timeout(const Environment& environment);

// The first host of Slurm's way to write lists: "gpu[007-010,12]-ib,login" begins with gpu007-ib. Throws ConfigError.
std::string first_host(std::string_view list);

// The value if the variable is set and not empty.
std::optional<std::string> find_variable(const Environment& environment, std::string_view name);

}  // namespace gradwire
