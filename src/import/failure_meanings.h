// What went wrong when a run died, and how to mend it, where signs of several tables tell the same. What one table alone tells
// stands beside it.
#pragma once

#include "import/known_failures.h"

namespace gradwire {

constexpr const char* kMoreShm = "docker run --shm-size=1g ...  # or --ipc=host";
constexpr const char* kNameInterface =
    "NCCL_SOCKET_IFNAME=eth0  # the interface that all nodes share; ip route; open the firewall between "
    "nodes";
constexpr const char* kAskAll = "NCCL_DEBUG=INFO on every node, and give all the logs to gradwire doctor";
constexpr const char* kCudaInNccl =
    "a call of CUDA failed inside NCCL; NCCL is seldom the cause, the call before it is";
constexpr Meaning kSmallShm = {"R18", "shared memory is too small for NCCL: a container has 64 MB of it",
                               kMoreShm};
constexpr Meaning kStubDriver = {
    "R07", "the process loads CUDA's stub of the driver, which does nothing, in place of the driver",
    "take the folder .../lib64/stubs out of LD_LIBRARY_PATH; in a container the host's libcuda.so.1"};
constexpr Meaning kOldBuild = {
    "R07", "this build of NCCL or PyTorch has no code for this GPU",
    "install a build of PyTorch for a newer CUDA: pip install torch --index-url ..."};
constexpr Meaning kNoEfa = {
    "R37", "the plugin for EFA finds no card it can use, and NCCL falls back to TCP or gives up",
    "fi_info -p efa; give the container /dev/infiniband and EFA's libraries, allow all traffic inside the "
    "security group; FI_PROVIDER=efa"};
constexpr Meaning kNoWay = {"R36", "ranks can't reach each other over the network interface that NCCL took",
                            kNameInterface};
constexpr Meaning kAbsent = {"R35", "a rank did not come to a collective that the others were in",
                             "give gradwire analyze the flight recorder's dumps: "
                             "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1",
                             Effect::call_hangs};
constexpr Meaning kDiedElsewhere = {"R00", "another rank died first, and what is here does not say of what",
                                    kAskAll};
constexpr Meaning kNoReason = {"R00", "NCCL failed, and what is here does not say why", kAskAll};
constexpr Meaning kNoMeeting = {
    "R36", "ranks do not meet: the first one's port is not reached, or it has not started, or has died",
    "MASTER_ADDR and MASTER_PORT as every node reaches them; open the firewall between nodes; the same "
    "number of nodes and the same --rdzv-id on each"};
constexpr Meaning kKilled = {
    "R00", "a rank was killed from outside, as the kernel does where the host's memory is full",
    "dmesg | grep -i oom, or the scheduler's word for it: ask for more memory, or fewer workers of "
    "loaders"};
constexpr Meaning kCrashed = {"R00", "a rank crashed, and what is here does not say of what",
                              "python -X faulthandler, or the core in gdb; the end of that rank's own log"};
constexpr Meaning kPortTaken = {
    "R36", "the port at which ranks meet is taken: by another run, or what is left of one",
    "torchrun --master-port 29501, or --rdzv-endpoint with another port; kill what is left"};
constexpr Meaning kFullGpu = {
    "R00", "a GPU's memory is full: the run wants more than it has",
    "a smaller batch, activation checkpointing, FSDP or ZeRO; nvidia-smi  # whether another process "
    "is on it"};
constexpr Meaning kStrayAccess = {
    "R00",
    "a kernel touched memory that is not its own: an index out of range, or a kernel's bug; the error "
    "shows wherever CUDA is asked next, also in NCCL",
    "CUDA_LAUNCH_BLOCKING=1 names the call; compute-sanitizer --tool memcheck on one rank"};
constexpr Meaning kNoLauncher = {
    "R23", "the script was started without a launcher: nobody told the process which rank it is",
    "torchrun --nproc-per-node N train.py, or srun with RANK, WORLD_SIZE and MASTER_ADDR set for each task"};
constexpr Meaning kNoSsh = {"R36", "the launcher can't reach a node by ssh, and starts no ranks there",
                            "ssh HOST hostname from where the launcher runs, without a password "
                            "(ssh-copy-id) and with its key known; "
                            "no hostfile for a single node"};
constexpr Meaning kStoreGone = {
    "R00",
    "rank 0, which keeps the store where ranks meet, was gone before the others: it died first, or ended "
    "without waiting for them",
    "the end of rank 0's own log; dist.barrier() and dist.destroy_process_group() at the end of the script"};
constexpr Meaning kStopped = {
    "R00",
    "the run was told to end from outside: by its scheduler, by somebody, or since its terminal closed",
    "sacct -j JOB, kubectl describe pod; nohup, tmux or setsid for what shall outlive a terminal"};
constexpr Meaning kSilentPeer = {
    "R36",
    "a peer did not answer: it had died, or can't be reached over the network interface that NCCL took",
    "look at the log of the rank that did not answer; NCCL_SOCKET_IFNAME names the interface all nodes "
    "share"};

}  // namespace gradwire
