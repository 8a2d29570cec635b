#include "measure/contestant_mpi.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
#include "base/module.h"
#include "base/text.h"

namespace gradwire {
namespace {

constexpr const char* kKeepMemory =
    "glibc.malloc.hugetlb=1:glibc.malloc.mmap_max=0:glibc.malloc.trim_threshold=17179869184:"
    "glibc.malloc.top_pad=67108864";

std::string find_program(const std::vector<std::string>& names, const std::string& package) {
  const char* path = std::getenv("PATH");
  for (const auto& name : names)
    for (const auto directory : split(path ? path : "", ':')) {
      const auto file = std::filesystem::path(directory) / name;
      if (::access(file.c_str(), X_OK) == 0) return file.string();
    }
  throw ConfigError(fmt::format("{} is not installed: apt-get install {}", names.front(), package));
}

MpiLaunch open_mpi_run(const std::string& variant, int ranks) {
  MpiLaunch launch;
  launch.command = {find_program({"mpirun.openmpi", "mpirun"}, "openmpi-bin"), "--oversubscribe", "-n",
                    std::to_string(ranks)};
  launch.environment = {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}};
  if (variant.empty()) return launch;
  launch.environment["GLIBC_TUNABLES"] = kKeepMemory;
  if (variant == "nocma") {
    launch.environment["OMPI_MCA_btl_vader_single_copy_mechanism"] = "none";
  } else if (variant == "segring") {
    launch.environment["OMPI_MCA_coll_tuned_use_dynamic_rules"] = "1";
    launch.environment["OMPI_MCA_coll_tuned_allreduce_algorithm"] = "5";
    launch.environment["OMPI_MCA_coll_tuned_allreduce_algorithm_segmentsize"] = "262144";
  } else if (variant != "malloc") {
    throw ConfigError(fmt::format("mpi has no variant '{}': there are malloc, nocma and segring", variant));
  }
  return launch;
}

std::string preloaded(const std::filesystem::path& library) {
  const char* const others = std::getenv("LD_PRELOAD");
  return fmt::format("LD_PRELOAD={}{}", library.string(),
                     others != nullptr ? fmt::format(":{}", others) : "");
}

// Ranks hear from mpirun who they are. Of the ways between them those that listen on networks are of no use on one host.
void keep_here(MpiLaunch& launch, const std::filesystem::path& folder) {
  const auto loopback = find_module("loopback");
  if (!loopback)
    throw ConfigError(
        "libgradwire-loopback.so is not among Gradwire's modules: without it mpirun would listen on every "
        "interface; build or install it");
  std::vector<std::string> command = {"/usr/bin/env"};
  for (const char* own :
       {"RANK", "WORLD_SIZE", "LOCAL_RANK", "LOCAL_WORLD_SIZE", "GROUP_RANK", "MASTER_ADDR", "MASTER_PORT"})
    command.insert(command.end(), {"-u", own});
  command.push_back(preloaded(*loopback));
  launch.command.insert(launch.command.begin(), command.begin(), command.end());
  for (const char* place : {"OMPI_MCA_orte_tmpdir_base", "PRTE_MCA_prte_tmpdir_base",
                            "OMPI_MCA_btl_vader_backing_directory", "OMPI_MCA_btl_sm_backing_directory"})
    launch.environment[place] = folder.string();
  if (std::getenv("OMPI_MCA_btl") == nullptr) launch.environment["OMPI_MCA_btl"] = "^tcp,ofi";
}

MpiLaunch mpich_run(const std::string& variant, int ranks) {
  MpiLaunch launch;
  launch.command = {find_program({"mpirun.mpich", "mpiexec.hydra"}, "mpich libmpich-dev"), "-n",
                    std::to_string(ranks)};
  if (variant.empty()) return launch;
  if (variant != "malloc")
    throw ConfigError(fmt::format("mpich has no variant '{}': there is malloc", variant));
  launch.environment["GLIBC_TUNABLES"] = kKeepMemory;
  launch.command.insert(launch.command.end(), {"-bind-to", "core"});
  return launch;
}

}  // namespace

std::optional<MpiName> find_mpi(const std::string& name) {
  const auto colon = name.find(':');
  const std::string family = name.substr(0, colon);
  if (family != "mpi" && family != "mpich") return std::nullopt;
  return MpiName{family == "mpi" ? BackendModule::open_mpi : BackendModule::mpich,
                 colon == std::string::npos ? "" : name.substr(colon + 1)};
}

MpiLaunch mpi_launch(const MpiName& name, int ranks, const std::filesystem::path& folder) {
  check_module(name.implementation);
  if (name.implementation == BackendModule::mpich) return mpich_run(name.variant, ranks);
  MpiLaunch launch = open_mpi_run(name.variant, ranks);
  keep_here(launch, folder);
  return launch;
}

}  // namespace gradwire
