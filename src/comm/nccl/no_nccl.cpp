#include "base/error.h"
#include "comm/nccl/nccl.h"

namespace gradwire {

std::unique_ptr<Communicator> make_nccl(const World&, const NcclOptions&) {
  throw ConfigError(
      "the nccl backend is not in this build: CMake found no CUDA runtime or no NCCL (2.14 or later). "
      "Install both and configure with -DCUDAToolkit_ROOT=... -DNCCL_ROOT=..., or choose --backend shm, "
      "tcp, gloo or mpi");
}

}  // namespace gradwire
