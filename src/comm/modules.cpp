#include "comm/modules.h"

#include "base/error.h"
#include "base/module.h"

namespace gradwire {
namespace {

ModuleSpec spec_of(BackendModule module) {
  switch (module) {
    case BackendModule::gloo:
      return {.name = "gloo",
              .not_built =
                  "this gradwire was built without Gloo: apt-get install libgloo-dev, configure and "
                  "build again",
              .install = "apt-get install libgloo-dev"};
    case BackendModule::open_mpi:  // its plugins look for its symbols among everybody's
      return {.name = "mpi",
              .not_built =
                  "this gradwire was built without Open MPI: apt-get install libopenmpi-dev "
                  "openmpi-bin, configure and build again",
              .install = "apt-get install openmpi-bin",
              .for_others = true};
    case BackendModule::mpich:
      return {.name = "mpich",
              .not_built =
                  "this gradwire was built without MPICH: apt-get install mpich libmpich-dev, "
                  "configure and build again",
              .install = "apt-get install mpich",
              .for_others = true};
    case BackendModule::nccl:
      break;
  }
  return {.name = "nccl",
          .not_built =
              "the nccl backend is not in this build: CMake found no CUDA runtime or no NCCL (2.14 or "
              "later). Install both and configure with -DCUDAToolkit_ROOT=... -DNCCL_ROOT=..., or choose "
              "--backend shm, tcp, gloo or mpi",
          .install = "install NCCL and the CUDA runtime (NVIDIA's packages libnccl2 and cuda-cudart)"};
}

}  // namespace

BackendModule mpi_module(const Environment& environment) {
  const bool open_mpi = find_variable(environment, "OMPI_COMM_WORLD_RANK").has_value();
  const bool mpich = !open_mpi && find_variable(environment, "PMI_RANK");
  return mpich ? BackendModule::mpich : BackendModule::open_mpi;
}

void check_module(BackendModule module) {
  const ModuleSpec spec = spec_of(module);
  if (!find_module(spec.name)) throw ConfigError(spec.not_built);
}

std::unique_ptr<Collectives> open_gloo(const World& world, const GlooOptions& options) {
  using Make = decltype(gradwire_make_gloo);
  const auto make = module_function<Make>(spec_of(BackendModule::gloo), "gradwire_make_gloo");
  return std::unique_ptr<Collectives>(make(world, options));
}

std::unique_ptr<Collectives> open_mpi(const World& world, const MpiOptions& options) {
  using Make = decltype(gradwire_make_mpi);
  const auto make = module_function<Make>(spec_of(mpi_module(process_environment())), "gradwire_make_mpi");
  return std::unique_ptr<Collectives>(make(world, options));
}

std::unique_ptr<Communicator> open_nccl(const World& world, const NcclOptions& options) {
  using Make = decltype(gradwire_make_nccl);
  const auto make = module_function<Make>(spec_of(BackendModule::nccl), "gradwire_make_nccl");
  return std::unique_ptr<Communicator>(make(world, options));
}

}  // namespace gradwire
