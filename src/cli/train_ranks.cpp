#include "cli/train_ways.h"

#include <fmt/format.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <optional>
#include <system_error>
#include <utility>

#include "base/cpu.h"
#include "base/error.h"
#include "base/fd.h"
#include "base/say.h"
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

// Once a rank has died mpirun passes on what the others say a second later. So they say it where mpirun itself speaks, if
// the system lets a child have its parent's descriptor (Yama does not): else they are heard late.
void speak_past_mpirun() {
  const Fd mpirun(static_cast<int>(::syscall(SYS_pidfd_open, ::getppid(), 0)));
  const Fd error(static_cast<int>(::syscall(SYS_pidfd_getfd, mpirun.get(), STDERR_FILENO, 0)));
  if (error) ::dup2(error.get(), STDERR_FILENO);
}

// A rank ends with mpirun, as ranks that our launcher starts end with that. It may be gone already: then somebody else has
// become the parent.
void end_with_mpirun() {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  std::error_code unknown;
  const auto parent =
      std::filesystem::read_symlink(fmt::format("/proc/{}/exe", ::getppid()), unknown).filename().string();
  const bool mpirun =
      parent.starts_with("mpirun") || parent.starts_with("orte") || parent.starts_with("prte");
  if (::getppid() == 1 || (!unknown && !mpirun)) ::_exit(1);
  speak_past_mpirun();
}

// mpirun is the one program our launcher starts, and starts the ranks in turn: they hear from it who they
// are, not from us. It would bind each rank to a core, where ranks have threads for several.
LaunchOptions by_mpirun(LaunchOptions launch, const std::string& backend, const std::string& folder) {
  if (launch.nodes > 1)
    throw ConfigError(
        fmt::format("--backend {} on several nodes: start it with mpirun, as in `mpirun -n {} --host "
                    "node0,node1 gradwire train ...`",
                    backend, launch.ranks * launch.nodes));
  auto mpi = mpi_launch(MpiName{}, launch.ranks, folder);
  const auto self = std::filesystem::read_symlink("/proc/self/exe").string();
  mpi.command.insert(mpi.command.end(), {"--quiet", "--bind-to", "none", self, "train-rank", "--"});
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

void become_rank_of_mpirun(const std::vector<std::string>& command) {
  end_with_mpirun();
  become(command);
}

int start_ranks(LaunchOptions launch, const std::string& trainer, const TrainOptions& train) {
  const TrainOptions job = prepare_for_restarts(train, launch.max_restarts);
  launch.command = {trainer, to_argument(job)};
  if (is_rank_of_mpirun(launch.environment)) {
    take_share_of_cores(launch.environment);
    become(launch.command);
  }
  launch.ranks_leave = true;
  std::optional<GuardedFolder> folder;
  if (needs_mpi(train.backend.name))
    launch = by_mpirun(std::move(launch), train.backend.name, folder.emplace().path().string());
  launch.final_codes.push_back(kUnwritten);
  for (const int signal : {SIGINT, SIGTERM, SIGHUP}) launch.final_codes.push_back(128 + signal);
  const int code = gradwire::launch(launch);
  if (code == kUnwritten) return 1;  // all is learnt and told: there is nothing to go on with
  if (code == 0 || is_final(launch, code)) return code;
  // Rank 0, on node 0, has written what there is.
  if (launch.node == 0) say(launch.name, how_to_go_on(job, typed_command("--resume", job.checkpoint)));
  return 1;
}

}  // namespace gradwire
