// What NCCL and PyTorch print when a run dies, or warn of: the data behind known_failures.cpp, which alone includes it. What each
// was learnt from stands in docs/explain.md. The first that fits counts, so what is special stands before what is general.
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
constexpr Meaning kApart = {"R17",
                            "processes that NCCL takes for neighbours on one machine do not share its "
                            "memory: containers apart, or machines of one name",
                            "docker run --ipc=host --gpus all for each, or one container for all; else "
                            "NCCL_HOSTID different for each"};
constexpr Meaning kOldDriver = {"R07", "the driver is older than the CUDA that NCCL was built for",
                                "update the driver, or install a build of PyTorch for an older CUDA"};
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
                             "TORCH_NCCL_TRACE_BUFFER_SIZE=2000 TORCH_NCCL_DUMP_ON_TIMEOUT=1"};
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
constexpr Meaning kGone = {"R00", "a peer closed its connection: it died first, or the run was over",
                           kAskAll};

// A peer that was asked again and again.
constexpr Meaning kSilentPeer = {
    "R36",
    "a peer did not answer: it had died, or can't be reached over the network interface that NCCL took",
    "look at the log of the rank that did not answer; NCCL_SOCKET_IFNAME names the interface all nodes "
    "share"};

constexpr KnownFailure kFailures[] = {
    {"duplicate gpu detected", Told::cause,
     Meaning{"R23", "two ranks use the same GPU",
             "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))  # before anything else"},
     Scope::any},
    {"has already checked in", Told::cause,
     Meaning{"R23", "two processes say that they are the same rank",
             "one launcher for all: torchrun, or srun with RANK=$SLURM_PROCID; not one torchrun a task"}},
    {"mismatched nccl version detected", Told::cause,
     Meaning{"R07", "ranks run different versions of NCCL",
             "one build of PyTorch on every node and in every container; an old libnccl.so in "
             "LD_LIBRARY_PATH or LD_PRELOAD goes before it"},
     Scope::any},
    {"no space left on device", Told::cause, kSmallShm},
    {"shm*no space left on device", Told::cause, kSmallShm, Scope::any},
    {"/torch_*no space left on device", Told::cause, kSmallShm, Scope::any},
    {"no space left on device*shm", Told::cause, kSmallShm, Scope::any},
    {"no space left on device*/torch_", Told::cause, kSmallShm, Scope::any},
    {"shared memory object </torch_*too many open files", Told::cause,
     Meaning{"R18", "a process may not open as many files as its loader shares with workers",
             "ulimit -n 65536; torch.multiprocessing.set_sharing_strategy(\"file_system\")"},
     Scope::any},
    {"failed to extend /dev/shm", Told::cause, kSmallShm},
    {"while creating shared memory segment", Told::cause, kSmallShm},
    {"out of shared memory", Told::cause,
     Meaning{"R18", "shared memory is too small for the loader's workers: a container has 64 MB of it",
             kMoreShm},
     Scope::any},
    {"attaching to shared memory segment", Told::symptom,
     Meaning{"R17",
             "the shared memory of another rank was not there: it had died, or containers that NCCL takes "
             "for one machine do not share /dev/shm",
             "look at the first rank that failed; docker run --ipc=host for all of them"}},
    {"signal 7 (sigbus)", Told::usual_cause, kSmallShm, Scope::any},
    {"signal 7 (bus error", Told::usual_cause, kSmallShm, Scope::any},
    {"nvlink sharp*multicast", Told::cause, kNoSharp},
    {"system not yet initialized", Told::cause,
     Meaning{"R20", "NVSwitch is not set up: the fabric manager does not run, or was restarted",
             "systemctl restart nvidia-fabricmanager  # its version must be the driver's"},
     Scope::any},
    {"cuda out of memory*. process *memory in use. process *memory in use", Told::cause, kCrowded,
     Scope::any},
    {"cuda out of memory*gpu 0 *. process *memory in use", Told::usual_cause, kCrowded, Scope::any},
    {"cuda error: out of memory", Told::usual_cause,
     Meaning{"R22",
             "a GPU's memory was full before this process could use it: every rank, or another run, is on it",
             "nvidia-smi  # whose memory it is; torch.cuda.set_device(local_rank) first"},
     Scope::any},
    {"cuda out of memory. tried to allocate", Told::hint,
     Meaning{"R00", "a GPU's memory is full: the run wants more than it has",
             "a smaller batch, activation checkpointing, FSDP or ZeRO; nvidia-smi  # whether another process "
             "is on it"},
     Scope::any},
    {"out of memory", Told::cause,
     Meaning{"R22", "a GPU's memory was full when NCCL wanted some: every rank may have allocated on GPU 0",
             kOwnGpu}},
    {"nvls.cc*initialization error", Told::unexplained,
     Meaning{"R00", kCudaInNccl,
             "torch.cuda.init() alone, and in a process that was not forked; driver and CUDA must fit"}},
    {"nvls.cc*cuda failure", Told::cause, kNoSharp},
    {"imex", Told::cause,
     Meaning{
         "R20",
         "NVLink between nodes can't be set up: the IMEX service or its channels are missing on some node",
         "systemctl status nvidia-imex; nvidia-imex-ctl -N; the channel in the container; "
         "NCCL_MNNVL_ENABLE=0 until then"}},
    {"p2p is disabled between nvlink connected gpus", Told::cause,
     Meaning{"R12",
             "GPUs with NVLink between them may not reach each other: a link, its bridge or the driver is "
             "not well",
             "nvidia-smi nvlink -s; nvidia-smi topo -p2p n  # reseat the bridge, reset the GPUs, update the "
             "driver"}},
    {"peer access is not supported", Told::cause,
     Meaning{"R12", "the driver says that GPUs may reach each other and then refuses it",
             "NCCL_P2P_DISABLE=1 until the driver or NCCL is updated, of vLLM and SGLang "
             "--disable-custom-all-reduce; nvidia-smi topo -p2p r"},
     Scope::any},
    {"failed to open cuda ipc handle", Told::usual_cause, kApart},
    {"p2p.cc*cuda failure*invalid argument", Told::usual_cause, kApart},
    {"p2p.cc*cuda failure*invalid device ordinal", Told::usual_cause, kApart},
    {"uncorrectable nvlink error", Told::cause,
     Meaning{"R10", "an NVLink failed while it was used",
             "nvidia-smi nvlink -e; dmesg | grep Xid  # reseat the bridge, reset the GPUs, or have the board "
             "replaced"},
     Scope::any},
    {"exceeds device/fn maxsharedmem", Told::cause,
     Meaning{
         "R12",
         "this version of NCCL does not fit this GPU: its kernels want more shared memory than the GPU has",
         "pip install -U nvidia-nccl-cu12  # the version after the one that the log names"}},
    {"driver version is insufficient", Told::cause, kOldDriver, Scope::any},
    {"driver on your system is too old", Told::cause, kOldDriver, Scope::any},
    {"unsupported display driver / cuda driver combination", Told::cause,
     Meaning{"R07", "the driver's libraries are not of the version that the kernel has loaded",
             "reboot after an update of the driver; in a container the host's libraries, not its own: "
             "nvidia-container-toolkit, no cuda-compat in LD_LIBRARY_PATH"},
     Scope::any},
    {"forward compatibility was attempted on non supported hw", Told::cause,
     Meaning{"R07",
             "the container brings libraries of a newer driver (cuda-compat), which this GPU can't use",
             "take /usr/local/cuda/compat out of LD_LIBRARY_PATH; update the driver, or a container for an "
             "older CUDA"},
     Scope::any},
    {"no kernel image is available", Told::cause, kOldBuild, Scope::any},
    {"named symbol not found", Told::cause, kOldBuild},
    {"invalid device function", Told::cause, kOldBuild},
    {"expected to have finished reduction", Told::cause,
     Meaning{"R25", "some parameters got no gradient in a step, and DistributedDataParallel waits for all",
             "TORCH_DISTRIBUTED_DEBUG=DETAIL names them; use them in the loss, freeze them, or "
             "find_unused_parameters=True"},
     Scope::any},
    {"expected to mark a variable ready only once", Told::cause,
     Meaning{"R25",
             "a parameter got its gradient twice in a step: checkpointing or a shared layer under "
             "DistributedDataParallel",
             "DistributedDataParallel(model, static_graph=True), or checkpoint(..., use_reentrant=False)"},
     Scope::any},
    {"invalid device ordinal", Told::usual_cause,
     Meaning{
         "R23",
         "a process asks for a GPU that it does not see: more processes than GPUs, or a variable hides some",
         "torchrun --nproc-per-node N with as many as nvidia-smi -L lists; look at CUDA_VISIBLE_DEVICES"},
     Scope::any},
    {"only supported with gpus, no gpus found", Told::cause, kNoGpu, Scope::any},
    {"no cuda-capable device is detected", Told::cause, kNoGpu, Scope::any},
    {"no cuda gpus are available", Told::cause, kNoGpu, Scope::any},
    {"devices are busy or unavailable", Told::usual_cause,
     Meaning{"R23", "a GPU is another process's: it is in exclusive mode, or two ranks take the same",
             "nvidia-smi -q -d COMPUTE; nvidia-smi -c DEFAULT; torch.cuda.set_device(local_rank) first"},
     Scope::any},
    {"ddp expects same model*inconsistent 0 params", Told::symptom,
     Meaning{"R35",
             "DistributedDataParallel's first exchange brought nothing of another rank: it hung, or that "
             "rank died",
             "look at the first rank that failed, and what it did before; NCCL_P2P_DISABLE=1 tells whether "
             "peer access carries nothing"},
     Scope::any},
    {"ddp expects same model across all ranks", Told::cause, kOtherModels, Scope::any},
    {"not to match sizes of the same param in process", Told::cause, kOtherModels, Scope::any},
    {"detected mismatch between collectives", Told::cause, kApartCalls, Scope::any},
    {"message truncated", Told::usual_cause, kApartCalls},
    {"collective mismatch", Told::cause, kApartCalls},
    {"mismatched collective", Told::cause, kApartCalls},
    {"ibv_reg_mr*bad address", Told::cause,
     Meaning{"R38", "the network card can't reach the GPU's memory (GPUDirect RDMA)",
             "modprobe nvidia-peermem on every node; NCCL_NET_GDR_LEVEL=LOC until then"}},
    {"ibv_reg_mr*cannot allocate memory", Told::cause, kPinned},
    {"ibv_create_cq*cannot allocate memory", Told::cause, kPinned},
    {"ibv_create_qp*cannot allocate memory", Told::cause, kPinned},
    {"ibv_reg_mr*failed", Told::usual_cause, kPinned},
    {"ibv_create_cq*failed", Told::usual_cause, kPinned},
    {"ibv_create_qp*failed", Told::usual_cause, kPinned},
    {"no socket interface found", Told::cause, kNoInterface},
    {"is neither af_inet", Told::cause, kNoInterface},
    {"no usable listening interface", Told::cause, kNoInterface},
    {"ibv_modify_qp*failed", Told::symptom, kBrokenLink},
    {"got completion*with error 4,", Told::usual_cause, kCardBlind},
    {"got completion*with status=4 ", Told::usual_cause, kCardBlind},
    {"got completion with", Told::symptom, kBrokenLink},
    {"got completion from peer", Told::symptom, kBrokenLink},
    {"async event*port error", Told::symptom,
     Meaning{"R37", "a port of an InfiniBand or RoCE card went down while the run was on",
             "ibstat, or ip -s link; dmesg | grep mlx5  # a cable, its transceiver or the switch's port; its "
             "errors: perfquery"},
     Scope::nodes},
    {"async event*catastrophic", Told::symptom, kBrokenLink, Scope::nodes},
    {"async fatal event", Told::symptom, kBrokenLink, Scope::nodes},
    {"error: network*not found", Told::cause, kNoPlugin},
    {"failed to initialize any net plugin", Told::cause, kNoPlugin},
    {"net/ofi*provider", Told::symptom, kNoEfa, Scope::sockets},
    {"net/ofi*initialization", Told::symptom, kNoEfa, Scope::sockets},
    {"connect*refused*exceeded", Told::symptom, kSilentPeer},
    {"no route to host", Told::symptom, kNoWay},
    {"connect*connection timed out", Told::symptom, kNoWay},
    {"connect to*failed", Told::symptom, kNoWay},
    {"connect returned*retrying", Told::symptom, kNoWay},
    {"too many open files", Told::cause,
     Meaning{"R36", "a process may not open as many files as NCCL has connections", "ulimit -n 65536"}},
    {"server socket has failed to listen", Told::cause,
     Meaning{"R36", "the port at which ranks meet is taken: by another run, or what is left of one",
             "torchrun --master-port 29501, or --rdzv-endpoint with another port; kill what is left"},
     Scope::any},
    {"client socket has timed out", Told::symptom,
     Meaning{"R36", "ranks do not meet: the first one's port is not reached, or it has not started",
             "MASTER_ADDR and MASTER_PORT as every node reaches them; open the firewall between nodes"},
     Scope::any},
    {"watchdog caught collective operation timeout", Told::symptom, kAbsent, Scope::any},
    {"timeout at nccl work", Told::symptom, kAbsent, Scope::any},
    {"dump signal due to a collective timeout from", Told::symptom, kAbsent, Scope::any},
    {"watchdog got stuck", Told::symptom,
     Meaning{"R35", "a rank's own watchdog stood still: a call of CUDA, or Python's lock, did not come back",
             "py-spy dump --native on that rank; TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC only delays it"},
     Scope::any},
    {"failed to pass monitoredbarrier", Told::symptom,
     Meaning{"R35", "a rank did not come to a barrier that the others were in",
             "look at what that rank did instead: its stack (py-spy dump), its log, its input"},
     Scope::any},
    {"grad strides do not match bucket view", Told::aside,
     Meaning{"R28",
             "gradients lie otherwise in memory than DistributedDataParallel's buckets: each is copied "
             "element by element",
             "loss and layers without transposed parameters; .contiguous() in a module's own backward; of "
             "1x1 convolutions it costs nothing"},
     Scope::any},
    {"did not find any unused parameters", Told::remark,
     Meaning{"R25", "DistributedDataParallel looks for unused parameters every step, and there are none",
             "find_unused_parameters=False"},
     Scope::any},
    {"driver shutting down", Told::noise, Meaning{}},  // at the end of a process, after all work
    {"context is destroyed", Told::noise, Meaning{}},
    {"numa auto balancing enabled", Told::hint,
     Meaning{"R21", "the kernel moves memory between sockets while the run uses it",
             "sysctl kernel.numa_balancing=0"}},
    {"missing \"iommu=pt\"", Told::hint,
     Meaning{"R14", "the kernel was not told to let devices pass the IOMMU",
             "iommu=pt on the kernel's command line"}},
    {"to perform barrier as devices used by this process are currently unknown", Told::hint, kGuessed,
     Scope::any},
    {"as device used by this process is currently unknown", Told::hint, kGuessed, Scope::any},
    {"cuda failure", Told::unexplained, kCudaFailed},
    {"hip failure", Told::unexplained, kHipFailed},
    {"hipipc*failed", Told::unexplained, kHipFailed},
    {"unhandled cuda error", Told::unexplained, kCudaFailedSomewhere, Scope::any},
    {"ncclunhandledcudaerror", Told::unexplained, kCudaFailedSomewhere, Scope::any},
    {"watchdog thread terminated with exception", Told::unexplained, kCudaFailed, Scope::any},
    {"signal 9 (sigkill)", Told::usual_cause,
     Meaning{"R00", "a rank was killed from outside, as the kernel does where the host's memory is full",
             "dmesg | grep -i oom, or the scheduler's word for it: ask for more memory, or fewer workers of "
             "loaders"},
     Scope::any},
    {"ncclremoteerror", Told::unexplained, kDiedElsewhere, Scope::any},
    {"unhandled system error", Told::unexplained, kNoReason, Scope::any},
    {"ncclinvalidusage", Told::unexplained, kNoReason, Scope::any},
    {"internal error - please report this issue to the nccl", Told::unexplained, kNoReason, Scope::any},
    {"ncclsystemerror", Told::unexplained, kNoReason, Scope::any},
    {"ncclinternalerror", Told::unexplained, kNoReason, Scope::any},
    {"nccl error*remote process exited", Told::unexplained, kDiedElsewhere, Scope::any},
    {"nccl error*invalid usage", Told::unexplained, kNoReason, Scope::any},
    {"nccl error*internal error", Told::unexplained, kNoReason, Scope::any},
    {"failed to execute operation", Told::unexplained, kDiedElsewhere},
    {"socket recv failed while polling", Told::unexplained, kDiedElsewhere},
    {"connection closed by remote peer", Told::hint, kGone},
    {"call to recv from*failed", Told::hint, kGone},
};

}  // namespace gradwire
