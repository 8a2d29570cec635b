#include "comm/modules.h"

#include "base/error.h"
#include "base/module.h"

namespace gradwire {
namespace {

ModuleSpec find_spec(const std::string& name) {
  if (name == "gloo")
    return {.name = name,
            .not_built =
                "this gradwire was built without Gloo: apt-get install libgloo-dev, configure and "
                "build again",
            .install = "apt-get install libgloo-dev"};
  if (name == "mpi")  // Open MPI's plugins look for its symbols among everybody's
    return {.name = name,
            .not_built =
                "this gradwire was built without Open MPI: apt-get install libopenmpi-dev "
                "openmpi-bin, configure and build again",
            .install = "apt-get install openmpi-bin",
            .for_others = true};
  if (name == "mpich")
    return {.name = name,
            .not_built =
                "this gradwire was built without MPICH: apt-get install mpich libmpich-dev, "
                "configure and build again",
            .install = "apt-get install mpich",
            .for_others = true};
  check(name == "nccl", "a module that nobody knows");
  return {.name = name,
          .not_built =
              "the nccl backend is not in this build: CMake found no CUDA runtime or no NCCL (2.14 or "
              "later). Install both and configure with -DCUDAToolkit_ROOT=... -DNCCL_ROOT=..., or choose "
              "--backend shm, tcp, gloo or mpi",
          .install = "install NCCL and the CUDA runtime (NVIDIA's packages libnccl2 and cuda-cudart)"};
}

}  // namespace

std::string mpi_module(const Environment& environment) {
  const bool open_mpi = find_variable(environment, "OMPI_COMM_WORLD_RANK").has_value();
  return !open_mpi && find_variable(environment, "PMI_RANK") ? "mpich" : "mpi";
}

void check_module(const std::string& name) {
  if (!find_module(name)) throw ConfigError(find_spec(name).not_built);
}

std::unique_ptr<Collectives> open_gloo(const World& world, const GlooOptions& options) {
  using Make = decltype(gradwire_make_gloo);
  const auto make = module_function<Make>(find_spec("gloo"), "gradwire_make_gloo");
  return std::unique_ptr<Collectives>(make(world, options));
}

std::unique_ptr<Collectives> open_mpi(const World& world, const MpiOptions& options) {
  using Make = decltype(gradwire_make_mpi);
  const auto make = module_function<Make>(find_spec(mpi_module(process_environment())), "gradwire_make_mpi");
  return std::unique_ptr<Collectives>(make(world, options));
}

std::unique_ptr<Communicator> open_nccl(const World& world, const NcclOptions& options) {
  using Make = decltype(gradwire_make_nccl);
  const auto make = module_function<Make>(find_spec("nccl"), "gradwire_make_nccl");
  return std::unique_ptr<Communicator>(make(world, options));
}

}  // namespace gradwire
