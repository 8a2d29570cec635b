// Which calls tell what a thread does: data of stack_dump.cpp, which alone includes it. Names are those of PyTorch's, NCCL's,
// MPI's and Horovod's own sources; of the first that fits counts what it tells.
#pragma once

#include "import/stack_dump.h"

namespace gradwire {

struct KnownPlace {
  std::string_view function;  // what its name begins with; empty: any
  std::string_view file;      // part of its path; empty: any, or none is said
  Doing doing;
};

constexpr KnownPlace kPlaces[] = {
    // Threads that stand there in every healthy process, and processes that are no ranks: loaders' workers and launchers.
    {"", "torch/utils/data/_utils/", Doing::service},
    {"", "torch/distributed/elastic/agent/", Doing::service},
    {"", "deepspeed/launcher/", Doing::service},
    {"join", "torch/multiprocessing/spawn.py", Doing::service},
    {"ncclProxy", "", Doing::service},
    {"persistentSocketThread", "", Doing::service},
    {"ncclIbAsyncThread", "", Doing::service},
    {"c10d::ProcessGroupNCCL::ncclCommWatchdog", "", Doing::service},
    {"c10d::ProcessGroupNCCL::workCleanupLoop", "", Doing::service},
    {"c10d::ProcessGroupNCCL::watchdogHandler", "", Doing::service},
    {"c10d::ProcessGroupNCCL::heartbeatMonitor", "", Doing::service},
    {"c10d::ProcessGroupNCCL::HeartbeatMonitor", "", Doing::service},
    {"c10d::ProcessGroupNCCL::Watchdog", "", Doing::service},
    {"c10d::ProcessGroupGloo::runLoop", "", Doing::service},
    {"c10d::detail::TCPStoreMasterDaemon", "", Doing::service},
    {"c10d::detail::BackgroundThread", "", Doing::service},
    {"gloo::transport::tcp::Loop", "", Doing::service},
    {"gloo::transport::uv", "", Doing::service},
    // Before any collective.
    {"", "torch/distributed/rendezvous.py", Doing::meeting},
    {"", "torch/distributed/elastic/rendezvous/", Doing::meeting},
    {"init_process_group", "torch/distributed/", Doing::meeting},
    {"_store_based_barrier", "torch/distributed/", Doing::meeting},
    {"c10d::TCPStore", "", Doing::meeting},
    {"bootstrap", "bootstrap.cc", Doing::meeting},
    {"bootstrapInit", "", Doing::meeting},
    {"ncclCommInit", "", Doing::meeting},
    {"PMPI_Init", "", Doing::meeting},
    // Calls that every rank has to make. PyTorch's own sources have nothing else in these files, but the modules that wrap.
    {"", "torch/distributed/distributed_c10d.py", Doing::collective},
    {"", "torch/distributed/_functional_collectives.py", Doing::collective},
    {"_verify_param", "torch/distributed/utils.py", Doing::collective},
    {"_sync_", "torch/distributed/utils.py", Doing::collective},
    {"_sync_", "torch/nn/parallel/distributed.py", Doing::collective},
    {"_dist_broadcast", "", Doing::collective},
    {"", "deepspeed/comm/", Doing::collective},
    {"synchronize", "horovod/", Doing::collective},
    {"wait_for_everyone", "accelerate/", Doing::collective},
    {"c10d::", "", Doing::collective},
    {"gloo::", "", Doing::collective},
    {"nccl", "", Doing::collective},
    {"pncclAll", "", Doing::collective},
    {"PMPI_", "", Doing::collective},
    {"MPI_", "", Doing::collective},
    {"ompi_coll_", "", Doing::collective},
    {"horovod::", "", Doing::collective},
    // The next batch.
    {"_next_data", "torch/utils/data/dataloader.py", Doing::loading},
    {"_get_data", "torch/utils/data/dataloader.py", Doing::loading},
    {"_try_get_data", "torch/utils/data/dataloader.py", Doing::loading},
    {"__next__", "torch/utils/data/dataloader.py", Doing::loading},
    // What the GPU was given before.
    {"synchronize", "torch/cuda/", Doing::on_gpu},
    {"cudaStreamSynchronize", "", Doing::on_gpu},
    {"cudaDeviceSynchronize", "", Doing::on_gpu},
    {"cudaEventSynchronize", "", Doing::on_gpu},
    {"cudaMemcpy", "", Doing::on_gpu},
    {"cuStreamSynchronize", "", Doing::on_gpu},
    {"cuCtxSynchronize", "", Doing::on_gpu},
    {"hipStreamSynchronize", "", Doing::on_gpu},
    {"hipDeviceSynchronize", "", Doing::on_gpu},
    {"backward", "torch/autograd/", Doing::backward},
    {"_engine_run_backward", "torch/autograd/", Doing::backward},
};

}  // namespace gradwire
