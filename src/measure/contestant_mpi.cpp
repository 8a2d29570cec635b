#include "measure/contestant_mpi.h"

#include <unistd.h>

#include <cstdlib>
#include <filesystem>

#include "base/error.h"
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

MpiLaunch mpi_launch(const MpiName& name, int ranks) {
  check_module(name.implementation);
  return name.implementation == BackendModule::mpich ? mpich_run(name.variant, ranks)
                                                     : open_mpi_run(name.variant, ranks);
}

}  // namespace gradwire
