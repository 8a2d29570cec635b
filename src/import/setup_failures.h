// What is said where a run does not fit what is installed, or was not started as it should be.
// Data of known_failures.cpp, which alone includes it. The first that fits counts: what is special stands before what is general.
#pragma once

#include "import/failure_meanings.h"

namespace gradwire {

constexpr Meaning kOldDriver = {"R07", "the driver is older than the CUDA that NCCL was built for",
                                "update the driver, or install a build of PyTorch for an older CUDA"};
constexpr Meaning kNoGpu = {"R23", "a process sees no GPU at all",
                            "nvidia-smi -L where the process runs: docker run --gpus all, the job's --gres; "
                            "CUDA_VISIBLE_DEVICES not empty; torch.version.cuda not None"};
constexpr Meaning kOtherDriver = {
    "R07", "the driver's libraries are not of the version that the kernel has loaded",
    "reboot after an update of the driver; in a container the host's libraries, not its own: "
    "nvidia-container-toolkit, no cuda-compat in LD_LIBRARY_PATH"};
constexpr Meaning kOtherNccl = {
    "R07", "ranks run different versions of NCCL",
    "one build of PyTorch on every node and in every container; an old libnccl.so in "
    "LD_LIBRARY_PATH or LD_PRELOAD goes before it"};
constexpr Meaning kOlderNccl = {
    "R07", "the NCCL that is loaded is older than the one PyTorch was built for",
    "pip install -U nvidia-nccl-cu12; an old libnccl.so in LD_LIBRARY_PATH or LD_PRELOAD goes before it"};
constexpr Meaning kNoNccl = {"R07", "the library of NCCL is not found where the program looks for it",
                             "pip install nvidia-nccl-cu12, or LD_LIBRARY_PATH with the folder of "
                             "libnccl.so; PyTorch and NCCL from one source, pip or conda"};
constexpr Meaning kNoCuda = {
    "R07", "a library of CUDA is not found: this build is for another version than is installed",
    "install a build of PyTorch for the CUDA that is there; LD_LIBRARY_PATH with its lib64"};
constexpr Meaning kLostInContainer = {
    "R23", "a container has lost its GPUs, as it does when systemd is reloaded on the host",
    "start the container anew; docker run --device /dev/nvidia0 --device /dev/nvidiactl ..., or Docker "
    "with cgroupfs, keeps them"};
constexpr Meaning kOtherLayout = {
    "R35",
    "ranks hold a parameter in another order in memory: other versions, or a conversion that not all do",
    "the same image on every node; .to(memory_format=...) and .contiguous() on all ranks, before "
    "DistributedDataParallel"};

constexpr KnownFailure kSetupFailures[] = {
    {"duplicate gpu detected", Told::cause,
     Meaning{"R23", "two ranks use the same GPU",
             "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))  # before anything else"},
     Scope::any},
    {"has already checked in", Told::cause,
     Meaning{"R23", "two processes say that they are the same rank",
             "one launcher for all: torchrun, or srun with RANK=$SLURM_PROCID; not one torchrun a task"}},
    {"mismatched nccl version detected", Told::cause, kOtherNccl, Scope::any},
    {"undefined symbol: nccl", Told::cause, kOlderNccl, Scope::any},
    {"failed to find cuda library", Told::noise, Meaning{}},  // under WSL, whose driver is found another way
    {"libnccl.so*cannot open shared object", Told::cause, kNoNccl, Scope::any},
    {"librccl.so*cannot open shared object", Told::cause, kNoNccl, Scope::any},
    {"libcudart.so*cannot open shared object", Told::cause, kNoCuda, Scope::any},
    {"libcuda.so*cannot open shared object", Told::cause, kNoGpu, Scope::any},
    {"libnvidia-ml.so*cannot open shared object", Told::cause, kNoGpu, Scope::any},
    {"exceeds device/fn maxsharedmem", Told::cause,
     Meaning{
         "R12",
         "this version of NCCL does not fit this GPU: its kernels want more shared memory than the GPU has",
         "pip install -U nvidia-nccl-cu12  # the version after the one that the log names"}},
    {"driver version is insufficient", Told::cause, kOldDriver, Scope::any},
    {"driver on your system is too old", Told::cause, kOldDriver, Scope::any},
    {"api call is not supported in the installed cuda driver", Told::cause, kOldDriver, Scope::any},
    {"ptx was compiled with an unsupported toolchain", Told::cause, kOldDriver, Scope::any},
    {"nvrm: api mismatch", Told::cause, kOtherDriver, Scope::any},
    {"failed to initialize nvml: unknown error", Told::usual_cause, kLostInContainer, Scope::any},
    {"unsupported display driver / cuda driver combination", Told::cause, kOtherDriver, Scope::any},
    {"driver/library version mismatch", Told::cause, kOtherDriver, Scope::any},
    {"forward compatibility was attempted on non supported hw", Told::cause,
     Meaning{"R07",
             "the container brings libraries of a newer driver (cuda-compat), which this GPU can't use",
             "take /usr/local/cuda/compat out of LD_LIBRARY_PATH; update the driver, or a container for an "
             "older CUDA"},
     Scope::any},
    {"no kernel image is available", Told::cause, kOldBuild, Scope::any},
    {"named symbol not found", Told::cause, kOldBuild},
    {"invalid device function", Told::cause, kOldBuild},
    {"invalid device ordinal", Told::usual_cause,
     Meaning{
         "R23",
         "a process asks for a GPU that it does not see: more processes than GPUs, or a variable hides some",
         "torchrun --nproc-per-node N with as many as nvidia-smi -L lists; look at CUDA_VISIBLE_DEVICES; of "
         "MIG a process sees one slice alone"},
     Scope::any},
    {"only supported with gpus, no gpus found", Told::cause, kNoGpu, Scope::any},
    {"no cuda-capable device is detected", Told::cause, kNoGpu, Scope::any},
    {"no cuda gpus are available", Told::cause, kNoGpu, Scope::any},
    {"torch not compiled with cuda enabled", Told::cause, kNoGpu, Scope::any},
    {"couldn't communicate with the nvidia driver", Told::cause, kNoGpu, Scope::any},
    {"cannot re-initialize cuda in forked subprocess", Told::cause,
     Meaning{"R23", "a process used CUDA and was forked afterwards: its children can't",
             "torch.multiprocessing.set_start_method(\"spawn\"), or no call of CUDA before ranks and workers "
             "are started"},
     Scope::any},
    {"devices are busy or unavailable", Told::usual_cause,
     Meaning{"R23", "a GPU is another process's: it is in exclusive mode, or two ranks take the same",
             "nvidia-smi -q -d COMPUTE; nvidia-smi -c DEFAULT; torch.cuda.set_device(local_rank) first"},
     Scope::any},
    {"rendezvous: environment variable*expected, but not set", Told::cause, kNoLauncher, Scope::any},
    {"not to match strides of the same param in process", Told::cause, kOtherLayout, Scope::any},
    {"was not reachable via ssh", Told::cause, kNoSsh, Scope::any},
    {"command 'ssh *returned non-zero exit status 255", Told::cause, kNoSsh, Scope::any},
    {"host key verification failed", Told::usual_cause, kNoSsh, Scope::any},
};

}  // namespace gradwire
