// What is said where memory runs out: a GPU's, the host's, or what processes share.
// Data of known_failures.cpp, which alone includes it. The first that fits counts: what is special stands before what is general.
#pragma once

#include "import/failure_meanings.h"

namespace gradwire {

constexpr const char* kOwnGpu =
    "torch.cuda.set_device(local_rank) first; torch.load(..., map_location=device)";
constexpr Meaning kCrowded = {
    "R22",
    "a GPU's memory is full, and several processes are on it: ranks allocate on GPUs that are not theirs",
    kOwnGpu};
constexpr Meaning kFullOfJax = {
    "R22", "a GPU's memory was full when NCCL wanted some: JAX takes most of it as it starts",
    "XLA_PYTHON_CLIENT_MEM_FRACTION=0.8, or XLA_PYTHON_CLIENT_PREALLOCATE=false; one process a GPU"};

constexpr KnownFailure kMemoryFailures[] = {
    {"no space left on device", Told::cause, kSmallShm},
    {"shm*no space left on device", Told::cause, kSmallShm, Scope::any},
    {"/torch_*no space left on device", Told::cause, kSmallShm, Scope::any},
    {"no space left on device*shm", Told::cause, kSmallShm, Scope::any},
    {"no space left on device*/torch_", Told::cause, kSmallShm, Scope::any},
    {"shared memory object </torch_*too many open files", Told::cause,
     Meaning{"R18", "a process may not open as many files as its loader shares with workers",
             "ulimit -n 65536; torch.multiprocessing.set_sharing_strategy(\"file_system\")"},
     Scope::any},
    {"failed to extend /dev/shm", Told::cause, kSmallShm, Scope::any},
    {"while creating shared memory segment", Told::cause, kSmallShm, Scope::any},
    {"out of shared memory", Told::cause,
     Meaning{"R18", "shared memory is too small for the loader's workers: a container has 64 MB of it",
             kMoreShm},
     Scope::any},
    {"attaching to shared memory segment", Told::symptom,
     Meaning{"R17",
             "the shared memory of another rank was not there: it had died, or containers that NCCL takes "
             "for one machine do not share /dev/shm",
             "look at the first rank that failed; docker run --ipc=host for all of them",
             Effect::gpus_hidden}},
    {"insufficient shared memory (shm)", Told::usual_cause, kSmallShm, Scope::any},
    {"dataloader worker*killed by signal: bus error", Told::usual_cause, kSmallShm, Scope::any},
    {"signal 7 (sigbus)", Told::usual_cause, kSmallShm, Scope::any},
    {"(exitcode: -7)", Told::usual_cause, kSmallShm, Scope::any},
    {"signal 7 (bus error", Told::usual_cause, kSmallShm, Scope::any},
    {"cuda out of memory*. process *memory in use. process *memory in use", Told::cause, kCrowded,
     Scope::any},
    {"cuda out of memory*gpu 0 *. process *memory in use", Told::usual_cause, kCrowded, Scope::any},
    {"cuda error: out of memory", Told::usual_cause,
     Meaning{"R22",
             "a GPU's memory was full before this process could use it: every rank, or another run, is on it",
             "nvidia-smi  # whose memory it is; torch.cuda.set_device(local_rank) first"},
     Scope::any},
    {"cuda out of memory. tried to allocate", Told::hint, kFullGpu, Scope::any},
    {"hip out of memory. tried to allocate", Told::hint, kFullGpu, Scope::any},
    {"cublas_status_alloc_failed", Told::hint, kFullGpu, Scope::any},
    {"xla*out of memory", Told::cause, kFullOfJax, Scope::any},
    {"out of memory: killed process", Told::usual_cause, kKilled, Scope::any},
    {"out of memory", Told::cause,
     Meaning{"R22", "a GPU's memory was full when NCCL wanted some: every rank may have allocated on GPU 0",
             kOwnGpu}},
};

}  // namespace gradwire
