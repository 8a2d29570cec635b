// How MPI contestants are started: the arguments before the program, and the environment that makes a
// variant.
#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <vector>

#include "comm/modules.h"

namespace gradwire {

struct MpiLaunch {
  std::vector<std::string> command;  // what to start: mpirun and its options
  std::map<std::string, std::string> environment;
};

struct MpiName {
  BackendModule implementation = BackendModule::open_mpi;
  std::string variant;  // empty: none
};

// Of "mpi" or "mpich", with a variant behind a colon:
//   malloc    keeps temporaries mapped between calls, which defaults return to the system every time
//   nocma     (Open MPI) malloc, and copies through shared memory instead of the kernel's cross-memory attach
//   segring   (Open MPI) malloc, and the segmented ring of 256 KiB segments
// Nothing of another name.
std::optional<MpiName> find_mpi(const std::string& name);

// On this host. What Open MPI leaves lying about goes into `folder`, and its mpirun listens on loopback alone. Throws ConfigError
// when that MPI or variant is not there, or nothing to keep it on loopback.
MpiLaunch mpi_launch(const MpiName& name, int ranks, const std::filesystem::path& folder);

}  // namespace gradwire
