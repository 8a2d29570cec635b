#include "cli/train_ways.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <optional>
#include <system_error>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/text.h"
#include "launch/guarded_folder.h"
#include "measure/contestant_mpi.h"
#include "train/job/restart.h"

namespace gradwire {
namespace {

bool needs_mpi(const std::string& backend) {
  const auto plus = backend.find('+');
  return find_mpi(plus == std::string::npos ? backend : backend.substr(plus + 1)).has_value();
}

// mpirun, Open MPI's or MPICH's, has started this process as a rank.
bool is_rank_of_mpirun(const Environment& environment) {
  return find_variable(environment, "OMPI_COMM_WORLD_RANK") || find_variable(environment, "PMI_RANK");
}

std::string share_of_cores(int ranks) { return std::to_string(std::max(1, usable_cores() / ranks)); }

// mpirun does not see to it, as our launcher does.
void take_share_of_cores(const Environment& environment) {
  auto ranks = find_variable(environment, "OMPI_COMM_WORLD_LOCAL_SIZE");
  if (!ranks) ranks = find_variable(environment, "MPI_LOCALNRANKS");
  const auto share = share_of_cores(std::max(1, find_integer<int>(ranks.value_or("1")).value_or(1)));
  for (const char* name : {"OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"}) ::setenv(name, share.c_str(), 0);
}

[[noreturn]] void become(const std::vector<std::string>& command) {
  std::vector<char*> arguments;
  for (const auto& word : command) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  ::execv(arguments[0], arguments.data());
  throw ConfigError(fmt::format("can't start {}: {}", command[0], std::generic_category().message(errno)));
}

// mpirun is the one program our launcher starts, and starts the ranks in turn: they hear from it who they
// are, not from us. It would bind each rank to a core, where ranks have threads for several.
LaunchOptions by_mpirun(LaunchOptions launch, const std::string& backend, const std::string& folder) {
  if (launch.nodes > 1)
    throw ConfigError(
        fmt::format("--backend {} on several nodes: start it with mpirun, as in mpirun -n {} --host "
                    "node0,node1 gradwire train ...",
                    backend, launch.ranks * launch.nodes));
  auto mpi = mpi_launch(MpiName{}, launch.ranks, folder);
  mpi.command.insert(mpi.command.end(), {"--quiet", "--bind-to", "none"});
  mpi.command.insert(mpi.command.end(), launch.command.begin(), launch.command.end());
  launch.command = std::move(mpi.command);
  for (const auto& [name, value] : mpi.environment) launch.environment[name] = value;
  launch.environment.try_emplace("OMPI_MCA_pml", "ob1");  // others listen on networks too
  const auto share = share_of_cores(launch.ranks);
  launch.environment.try_emplace("OMP_NUM_THREADS", share);
  launch.environment.try_emplace("OPENBLAS_NUM_THREADS", share);
  launch.ranks_within = std::exchange(launch.ranks, 1);
  launch.sole_program = "mpirun";
  launch.rank_variable = "OMPI_COMM_WORLD_RANK";
  return launch;
}

}  // namespace

int start_ranks(LaunchOptions launch, const std::string& trainer, const TrainOptions& train) {
  launch.command = {trainer, to_argument(prepare_for_restarts(train, launch.max_restarts))};
  if (is_rank_of_mpirun(launch.environment)) {
    take_share_of_cores(launch.environment);
    become(launch.command);
  }
  launch.ranks_leave = true;
  std::optional<GuardedFolder> folder;
  if (needs_mpi(train.backend.name))
    launch = by_mpirun(std::move(launch), train.backend.name, folder.emplace().path().string());
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) launch.final_codes.push_back(128 + signal);
  const int code = gradwire::launch(launch);
  return code == 0 || is_final(launch, code) ? code : 1;
}

}  // namespace gradwire
