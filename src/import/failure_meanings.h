// What went wrong when a run died, and how to mend it, where several signs tell the same: the data behind failure_table.h.
#pragma once

#include "import/known_failures.h"

namespace gradwire {

// Words that several meanings share.
constexpr const char* kMoreShm = "docker run --shm-size=1g ...  # or --ipc=host";
constexpr const char* kNameInterface =
    "NCCL_SOCKET_IFNAME=eth0  # the interface that all nodes share; ip route; open the firewall between "
    "nodes";
constexpr const char* kAskAll = "NCCL_DEBUG=INFO on every node, and give all the logs to gradwire doctor";
constexpr const char* kCudaInNccl =
    "a call of CUDA failed inside NCCL; NCCL is seldom the cause, the call before it is";
constexpr const char* kOwnGpu =
    "torch.cuda.set_device(local_rank) first; torch.load(..., map_location=device)";

// What several signs mean.
constexpr Meaning kSmallShm = {"R18", "shared memory is too small for NCCL: a container has 64 MB of it",
                               kMoreShm};
constexpr Meaning kNoSharp = {
    "R20",
    "NVLink SHARP can't be set up: the fabric manager was restarted while GPUs were in use, or is not well",
    "stop what uses the GPUs, restart nvidia-fabricmanager, nvidia-smi -r, or reboot; NCCL_NVLS_ENABLE=0 "
    "until then"};
constexpr Meaning kCrowded = {
    "R22",
    "a GPU's memory is full, and several processes are on it: ranks allocate on GPUs that are not theirs",
    kOwnGpu};
constexpr Meaning kFullOfJax = {
    "R22", "a GPU's memory was full when NCCL wanted some: JAX takes most of it as it starts",
    "XLA_PYTHON_CLIENT_MEM_FRACTION=0.8, or XLA_PYTHON_CLIENT_PREALLOCATE=false; one process a GPU"};
constexpr Meaning kApart = {"R17",
                            "processes that NCCL takes for neighbours on one machine do not share its "
                            "memory: containers apart, or machines of one name",
                            "docker run --ipc=host --gpus all for each, or one container for all; else "
                            "NCCL_HOSTID different for each",
                            Effect::gpus_hidden};
constexpr Meaning kOldDriver = {"R07", "the driver is older than the CUDA that NCCL was built for",
                                "update the driver, or install a build of PyTorch for an older CUDA"};
constexpr Meaning kStubDriver = {
    "R07", "the process loads CUDA's stub of the driver, which does nothing, in place of the driver",
    "take the folder .../lib64/stubs out of LD_LIBRARY_PATH; in a container the host's libcuda.so.1"};
constexpr Meaning kOldBuild = {
    "R07", "this build of NCCL or PyTorch has no code for this GPU",
    "install a build of PyTorch for a newer CUDA: pip install torch --index-url ..."};
constexpr Meaning kNoGpu = {"R23", "a process sees no GPU at all",
                            "nvidia-smi -L where the process runs: docker run --gpus all, the job's --gres; "
                            "CUDA_VISIBLE_DEVICES not empty; torch.version.cuda not None"};
constexpr Meaning kOtherModels = {
    "R35", "ranks built different models",
    "one configuration and one checkpoint for every rank; no layer that only some ranks make"};
constexpr Meaning kApartCalls = {"R35", "ranks call different collectives, or not as many, or of other sizes",
                                 "TORCH_DISTRIBUTED_DEBUG=DETAIL names the first call that differs"};
constexpr Meaning kPinned = {"R37", "the process may not lock the memory that the network card needs",
                             "ulimit -l unlimited; docker run --ulimit memlock=-1"};
constexpr Meaning kNoInterface = {"R36", "NCCL_SOCKET_IFNAME names no interface of this machine",
                                  kNameInterface};
constexpr Meaning kBrokenLink = {
    "R37", "the InfiniBand or RoCE connection to a peer broke, or never came about",
    "ibv_devinfo; show_gids, NCCL_IB_GID_INDEX=3 for RoCE v2; NCCL_CROSS_NIC=0 where only cards of one "
    "number reach each other; check cables and switches with ib_write_bw"};
constexpr Meaning kCardBlind = {"R38",
                                "a network card was kept from the GPU's memory: bridges redirect what it "
                                "sends (ACS), which breaks GPUDirect RDMA",
                                "NCCL_NET_GDR_LEVEL=LOC tells: if it runs then, turn ACS off in the BIOS or "
                                "by setpci, on every node (lspci -vv: ACSCtl); modprobe nvidia-peermem"};
constexpr Meaning kNoPlugin = {
    "R37", "NCCL_NET or NCCL_NET_PLUGIN names a network that NCCL does not find",
    "unset NCCL_NET and NCCL_NET_PLUGIN, or LD_LIBRARY_PATH with the folder of libnccl-net.so"};
constexpr Meaning kNoEfa = {
    "R37", "the plugin for EFA finds no card it can use, and NCCL falls back to TCP or gives up",
    "fi_info -p efa; give the container /dev/infiniband and EFA's libraries, allow all traffic inside the "
    "security group; FI_PROVIDER=efa"};
constexpr Meaning kNoWay = {"R36", "ranks can't reach each other over the network interface that NCCL took",
                            kNameInterface};
constexpr Meaning kAbsent = {"R35", "a rank did not come to a collective that the others were in",
                             "give gradwire analyze the flight recorder's dumps: "
                             "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1",
                             Effect::ranks_wait};
constexpr Meaning kGuessed = {
    "R23",
    "a barrier guesses its GPU by the rank's number; where that is another than the rank uses, it hangs",
    "init_process_group(\"nccl\", device_id=torch.device(\"cuda\", local_rank))"};
constexpr Meaning kCudaFailed = {"R00", kCudaInNccl, "CUDA_LAUNCH_BLOCKING=1 to find the first that fails"};
constexpr Meaning kHipFailed = {
    "R00", "a call of HIP failed inside RCCL; RCCL is seldom the cause, the call before it is",
    "AMD_SERIALIZE_KERNEL=3 to find the first that fails"};
constexpr Meaning kCudaFailedSomewhere = {
    "R00", kCudaInNccl, "NCCL_DEBUG=INFO says which call; CUDA_LAUNCH_BLOCKING=1 finds the first that fails"};
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
constexpr Meaning kSickMemory = {
    "R00", "a GPU's memory has errors that can't be corrected",
    "nvidia-smi -q -d ECC,ROW_REMAPPER; nvidia-smi -r, or reboot; have the board replaced if they "
    "come back"};
constexpr Meaning kMendedMemory = {
    "R00", "a GPU's memory had errors that were corrected: it goes on, and more of them may follow",
    "nvidia-smi -q -d ECC,ROW_REMAPPER  # pending: nvidia-smi -r; have the board replaced if it has failed"};
constexpr Meaning kLostGpu = {
    "R00", "a GPU fell off the bus: no program reaches it until the machine starts anew",
    "dmesg | grep Xid; reboot; check its power cables, its slot or riser, and how hot it gets"};
constexpr Meaning kSickLink = {
    "R10", "an NVLink has errors",
    "nvidia-smi nvlink -e; nvidia-smi nvlink -s  # reseat the bridge, reset the GPUs, restart the fabric "
    "manager, or have the board replaced"};
constexpr Meaning kStuckDriver = {"R00", "a GPU's own firmware does not answer the driver any more",
                                  "nvidia-smi -r, or reboot; update the driver"};
constexpr Meaning kOtherXid = {
    "R00",
    "the driver reports an event of a GPU (Xid) that need not be a fault: as often as not a program's own "
    "error, or what comes of it",
    "NVIDIA's list of Xid numbers says what this one is; look at what the run printed at that moment"};
constexpr Meaning kDriverFailed = {
    "R00", "the GPUs' driver says that something failed",
    "nvidia-smi  # whether it lists every GPU; reboot after an update of the driver, then look at the lines "
    "around it"};
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
constexpr Meaning kBadTopoFile = {
    "R19", "the file that describes this machine to NCCL (NCCL_TOPO_FILE, or a plugin's own) lacks something",
    "unset NCCL_TOPO_FILE, or take the provider's newest file for this kind of machine; update the plugin"};
constexpr Meaning kGone = {"R00", "a peer closed its connection: it died first, or the run was over",
                           kAskAll};

constexpr Meaning kNoNccl = {"R07", "the library of NCCL is not found where the program looks for it",
                             "pip install nvidia-nccl-cu12, or LD_LIBRARY_PATH with the folder of "
                             "libnccl.so; PyTorch and NCCL from one source, pip or conda"};
constexpr Meaning kNoCuda = {
    "R07", "a library of CUDA is not found: this build is for another version than is installed",
    "install a build of PyTorch for the CUDA that is there; LD_LIBRARY_PATH with its lib64"};
constexpr Meaning kIommu = {
    "R14", "the IOMMU stops what devices send each other: peer access hangs, or brings wrong values",
    "IOMMU off in the BIOS, or amd_iommu=off, intel_iommu=off on the kernel's command line (iommu=pt where "
    "it must stay on)"};
constexpr Meaning kOtherFabric = {
    "R20", "the fabric manager does not run, for it is of another version than the driver: no NVSwitch",
    "install nvidia-fabricmanager of exactly the driver's version; systemctl restart nvidia-fabricmanager"};
constexpr Meaning kNoFabric = {
    "R20", "the fabric manager does not start, and without it boards with NVSwitch have no NVLink",
    "journalctl -u nvidia-fabricmanager; its version must be the driver's; without NVSwitch it is not "
    "needed"};
constexpr Meaning kNoSwitch = {"R20", "the fabric manager finds no NVSwitch: this board needs none",
                               "systemctl disable nvidia-fabricmanager"};
constexpr Meaning kDeadGpu = {
    "R00", "the driver can't start a GPU",
    "reboot, or take the power away for a minute; dmesg | grep NVRM; check its power cables, its slot or "
    "riser; in a virtual machine how it is passed through; have the board replaced if it comes back"};
constexpr Meaning kLostInContainer = {
    "R23", "a container has lost its GPUs, as it does when systemd is reloaded on the host",
    "start the container anew; docker run --device /dev/nvidia0 --device /dev/nvidiactl ..., or Docker "
    "with cgroupfs, keeps them"};
constexpr Meaning kHalfGpu = {
    "R19",
    "the driver can't do here what NCCL asks of it: in virtual machines (vGPU), slices of a GPU (MIG) "
    "and WSL a part of CUDA is missing",
    "NCCL_CUMEM_ENABLE=0; then NCCL_NVLS_ENABLE=0, NCCL_P2P_DISABLE=1 tell which; update the driver; of vGPU "
    "unified memory must be turned on; of MIG NCCL joins no two slices of one GPU"};
constexpr Meaning kDataParallel = {
    "R22", "one process drives all GPUs (DataParallel): GPU 0 gathers everything, and the others wait for it",
    "torchrun --nproc-per-node N train.py, with DistributedDataParallel; transformers' Trainer does the "
    "rest"};
constexpr Meaning kUnequal = {
    "R31", "one process drives GPUs that are not equal (DataParallel): every step waits for the weakest",
    "CUDA_VISIBLE_DEVICES without the weak one; torchrun with DistributedDataParallel"};
constexpr Meaning kOldKernel = {
    "R35", "the Linux kernel is so old that runs on several GPUs may hang",
    "a kernel of 5.5 and later; else look at what the ranks wait in: py-spy dump"};
constexpr Meaning kNotMine = {
    "R36", "the address at which ranks are to meet is none of this machine's, or of this container's",
    "MASTER_ADDR, or NCCL_COMM_ID, as rank 0 itself has it (ip addr); docker run --network=host"};
constexpr Meaning kOtherNet = {
    "R36", "no interface that NCCL took is in the network of the address at which ranks meet",
    "NCCL_SOCKET_IFNAME names the interface that all nodes share; docker run --network=host"};
constexpr Meaning kNoLauncher = {
    "R23", "the script was started without a launcher: nobody told the process which rank it is",
    "torchrun --nproc-per-node N train.py, or srun with RANK, WORLD_SIZE and MASTER_ADDR set for each task"};
constexpr Meaning kOtherLayout = {
    "R35",
    "ranks hold a parameter in another order in memory: other versions, or a conversion that not all do",
    "the same image on every node; .to(memory_format=...) and .contiguous() on all ranks, before "
    "DistributedDataParallel"};
constexpr Meaning kNoSsh = {"R36", "the launcher can't reach a node by ssh, and starts no ranks there",
                            "ssh HOST hostname from where the launcher runs, without a password "
                            "(ssh-copy-id) and with its key known; "
                            "no hostfile for a single node"};
constexpr Meaning kNoStart = {
    "R00", "CUDA can't be started in a process: it was forked after CUDA was used, or the driver is not well",
    "nvidia-smi, and python -c 'import torch; torch.cuda.init()' on that GPU alone; "
    "set_start_method(\"spawn\"); dmesg | grep NVRM"};
constexpr Meaning kNoGids = {
    "R37", "the address of a RoCE card (its GID) can't be read where the process runs: nodes can't connect",
    "show_gids in the container: it needs the card's own network device, as with --network=host or SR-IOV; "
    "NCCL_IB_GID_INDEX=3 for RoCE v2"};
constexpr Meaning kFailedEfa = {"R37", "the plugin for EFA (libfabric) failed: nodes can't connect over it",
                                "fi_info -p efa on every node; the same versions of EFA's installer and of "
                                "aws-ofi-nccl on all; allow all "
                                "traffic inside the security group"};
constexpr Meaning kStoreGone = {
    "R00",
    "rank 0, which keeps the store where ranks meet, was gone before the others: it died first, or ended "
    "without waiting for them",
    "the end of rank 0's own log; dist.barrier() and dist.destroy_process_group() at the end of the script"};
constexpr Meaning kTimeUp = {"R00", "the scheduler ended the job, for its time was up",
                             "ask for more time (#SBATCH --time), save checkpoints and resume; if it stood "
                             "still before, py-spy dump tells where"};
constexpr Meaning kPreempted = {"R00", "the scheduler took the nodes away: preempted, or a node failed",
                                "sacct -j JOB; checkpoints and --requeue"};
constexpr Meaning kStopped = {
    "R00",
    "the run was told to end from outside: by its scheduler, by somebody, or since its terminal closed",
    "sacct -j JOB, kubectl describe pod; nohup, tmux or setsid for what shall outlive a terminal"};

// A peer that was asked again and again.
constexpr Meaning kSilentPeer = {
    "R36",
    "a peer did not answer: it had died, or can't be reached over the network interface that NCCL took",
    "look at the log of the rank that did not answer; NCCL_SOCKET_IFNAME names the interface all nodes "
    "share"};

}  // namespace gradwire
