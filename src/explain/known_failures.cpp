#include "explain/known_failures.h"

#include <algorithm>
#include <cctype>

#include "base/text.h"

namespace gradwire {
namespace {

constexpr const char* kSmallShm = "shared memory is too small for NCCL: a container has 64 MB of it";
constexpr const char* kMoreShm = "docker run --shm-size=1g ...  # or --ipc=host";
constexpr const char* kBrokenLink = "the InfiniBand or RoCE connection to a peer broke, or never came about";
constexpr const char* kMendLink =
    "ibv_devinfo; show_gids, NCCL_IB_GID_INDEX=3 for RoCE v2; NCCL_CROSS_NIC=0 where only cards of one "
    "number reach "
    "each other; check cables and switches with ib_write_bw";
constexpr const char* kNoWay = "ranks can't reach each other over the network interface that NCCL took";
constexpr const char* kNameInterface =
    "NCCL_SOCKET_IFNAME=eth0  # the interface that all nodes share; ip route; open the firewall between "
    "nodes";
constexpr const char* kNoInterface = "NCCL_SOCKET_IFNAME names no interface of this machine";
constexpr const char* kNoFabric = "NVSwitch is not set up: the fabric manager does not run, or was restarted";
constexpr const char* kStartFabric =
    "systemctl restart nvidia-fabricmanager  # its version must be the driver's";
constexpr const char* kNoSharp =
    "NVLink SHARP can't be set up: the fabric manager was restarted while GPUs were in use, or is not well";
constexpr const char* kMendSharp =
    "stop what uses the GPUs, restart nvidia-fabricmanager, nvidia-smi -r, or reboot; NCCL_NVLS_ENABLE=0 "
    "until then";
constexpr const char* kApart =
    "processes that NCCL takes for neighbours on one machine do not share its memory: containers apart, or "
    "machines of "
    "one name";
constexpr const char* kTogether =
    "docker run --ipc=host --gpus all for each, or one container for all; else NCCL_HOSTID different for "
    "each";
constexpr const char* kPinned = "the process may not lock the memory that the network card needs";
constexpr const char* kUnlimited = "ulimit -l unlimited; docker run --ulimit memlock=-1";
constexpr const char* kOldDriver = "the driver is older than the CUDA that NCCL was built for";
constexpr const char* kOldBuild = "this build of NCCL or PyTorch has no code for this GPU";
constexpr const char* kNewerBuild =
    "install a build of PyTorch for a newer CUDA: pip install torch --index-url ...";
constexpr const char* kApartCalls = "ranks call different collectives, or not as many, or of other sizes";
constexpr const char* kFirstApart = "TORCH_DISTRIBUTED_DEBUG=DETAIL names the first call that differs";
constexpr const char* kNoEfa =
    "the plugin for EFA finds no card it can use, and NCCL falls back to TCP or gives up";
constexpr const char* kGiveEfa =
    "fi_info -p efa; give the container /dev/infiniband and EFA's libraries, allow all traffic inside the "
    "security "
    "group; FI_PROVIDER=efa";
constexpr const char* kDiedElsewhere = "another rank died first, and what is here does not say of what";
constexpr const char* kNoReason = "NCCL failed, and what is here does not say why";
constexpr const char* kAskAll = "NCCL_DEBUG=INFO on every node, and give all the logs to gradwire doctor";
constexpr const char* kCudaFailed =
    "a call of CUDA failed inside NCCL; NCCL is seldom the cause, the call before it is";

constexpr const char* kCrowded =
    "a GPU's memory is full, and several processes are on it: ranks allocate on GPUs that are not theirs";
constexpr const char* kOwnGpu =
    "torch.cuda.set_device(local_rank) first; torch.load(..., map_location=device)";
constexpr KnownFailure kSilentPeer = {
    "connect*refused*exceeded", Told::symptom, "R36",
    "a peer did not answer: it had died, or can't be reached over the network interface that NCCL took",
    "look at the log of the rank that did not answer; NCCL_SOCKET_IFNAME names the interface all nodes "
    "share"};

constexpr KnownFailure kFailures[] = {
    {"duplicate gpu detected", Told::cause, "R23", "two ranks use the same GPU",
     "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))  # before anything else"},
    {"has already checked in", Told::cause, "R23", "two processes say that they are the same rank",
     "one launcher for all: torchrun, or srun with RANK=$SLURM_PROCID; not one torchrun a task"},
    {"no space left on device", Told::cause, "R18", kSmallShm, kMoreShm},
    {"failed to extend /dev/shm", Told::cause, "R18", kSmallShm, kMoreShm},
    {"while creating shared memory segment", Told::cause, "R18", kSmallShm, kMoreShm},
    {"out of shared memory", Told::cause, "R18",
     "shared memory is too small for the loader's workers: a container has 64 MB of it", kMoreShm},
    {"attaching to shared memory segment", Told::symptom, "R17",
     "the shared memory of another rank was not there: it had died, or containers that NCCL takes for one "
     "machine do not "
     "share /dev/shm",
     "look at the first rank that failed; docker run --ipc=host for all of them"},
    {"nvlink sharp*multicast", Told::cause, "R20", kNoSharp, kMendSharp},
    {"system not yet initialized", Told::cause, "R20", kNoFabric, kStartFabric},
    {"cuda out of memory*. process *memory in use. process *memory in use", Told::cause, "R22", kCrowded,
     kOwnGpu},
    {"cuda out of memory*gpu 0 *. process *memory in use", Told::usual_cause, "R22", kCrowded, kOwnGpu},
    {"out of memory", Told::cause, "R22",
     "a GPU's memory was full when NCCL wanted some: every rank may have allocated on GPU 0", kOwnGpu},
    {"nvls.cc*initialization error", Told::unexplained, "R00", kCudaFailed,
     "torch.cuda.init() alone, and in a process that was not forked; driver and CUDA must fit"},
    {"nvls.cc*cuda failure", Told::cause, "R20", kNoSharp, kMendSharp},
    {"imex", Told::cause, "R20",
     "NVLink between nodes can't be set up: the IMEX service or its channels are missing on some node",
     "systemctl status nvidia-imex; nvidia-imex-ctl -N; the channel in the container; NCCL_MNNVL_ENABLE=0 "
     "until then"},
    {"p2p is disabled between nvlink connected gpus", Told::cause, "R12",
     "GPUs with NVLink between them may not reach each other: a link, its bridge or the driver is not well",
     "nvidia-smi nvlink -s; nvidia-smi topo -p2p n  # reseat the bridge, reset the GPUs, update the driver"},
    {"peer access is not supported", Told::cause, "R12",
     "the driver says that GPUs may reach each other and then refuses it",
     "NCCL_P2P_DISABLE=1 until the driver or NCCL is updated; nvidia-smi topo -p2p r"},
    {"failed to open cuda ipc handle", Told::usual_cause, "R17", kApart, kTogether},
    {"p2p.cc*cuda failure*invalid argument", Told::usual_cause, "R17", kApart, kTogether},
    {"p2p.cc*cuda failure*invalid device ordinal", Told::usual_cause, "R17", kApart, kTogether},
    {"exceeds device/fn maxsharedmem", Told::cause, "R12",
     "this version of NCCL does not fit this GPU: its kernels want more shared memory than the GPU has",
     "pip install -U nvidia-nccl-cu12  # the version after the one that the log names"},
    {"driver version is insufficient", Told::cause, "R07", kOldDriver,
     "update the driver, or install a build of PyTorch for an older CUDA"},
    {"no kernel image is available", Told::cause, "R07", kOldBuild, kNewerBuild},
    {"named symbol not found", Told::cause, "R07", kOldBuild, kNewerBuild},
    {"expected to have finished reduction", Told::cause, "R25",
     "some parameters got no gradient in a step, and DistributedDataParallel waits for all",
     "TORCH_DISTRIBUTED_DEBUG=DETAIL names them; use them in the loss, freeze them, or "
     "find_unused_parameters=True"},
    {"expected to mark a variable ready only once", Told::cause, "R25",
     "a parameter got its gradient twice in a step: checkpointing or a shared layer under "
     "DistributedDataParallel",
     "DistributedDataParallel(model, static_graph=True), or checkpoint(..., use_reentrant=False)"},
    {"invalid device ordinal", Told::usual_cause, "R23",
     "a process asks for a GPU that it does not see: more processes than GPUs, or a variable hides some",
     "torchrun --nproc-per-node N with as many as nvidia-smi -L lists; look at CUDA_VISIBLE_DEVICES"},
    {"detected mismatch between collectives", Told::cause, "R35", kApartCalls, kFirstApart},
    {"message truncated", Told::usual_cause, "R35", kApartCalls, kFirstApart},
    {"collective mismatch", Told::cause, "R35", kApartCalls, kFirstApart},
    {"mismatched collective", Told::cause, "R35", kApartCalls, kFirstApart},
    {"ibv_reg_mr*bad address", Told::cause, "R38",
     "the network card can't reach the GPU's memory (GPUDirect RDMA)",
     "modprobe nvidia-peermem on every node; NCCL_NET_GDR_LEVEL=LOC until then"},
    {"ibv_reg_mr*cannot allocate memory", Told::cause, "R37", kPinned, kUnlimited},
    {"ibv_create_cq*cannot allocate memory", Told::cause, "R37", kPinned, kUnlimited},
    {"ibv_create_qp*cannot allocate memory", Told::cause, "R37", kPinned, kUnlimited},
    {"ibv_reg_mr*failed", Told::usual_cause, "R37", kPinned, kUnlimited},
    {"no socket interface found", Told::cause, "R36", kNoInterface, kNameInterface},
    {"is neither af_inet", Told::cause, "R36", kNoInterface, kNameInterface},
    {"no usable listening interface", Told::cause, "R36", kNoInterface, kNameInterface},
    {"ibv_modify_qp*failed", Told::symptom, "R37", kBrokenLink, kMendLink},
    {"got completion with", Told::symptom, "R37", kBrokenLink, kMendLink},
    {"got completion from peer", Told::symptom, "R37", kBrokenLink, kMendLink},
    {"net/ofi*provider", Told::symptom, "R37", kNoEfa, kGiveEfa},
    {"net/ofi*initialization", Told::symptom, "R37", kNoEfa, kGiveEfa},
    kSilentPeer,
    {"no route to host", Told::symptom, "R36", kNoWay, kNameInterface},
    {"connect*connection timed out", Told::symptom, "R36", kNoWay, kNameInterface},
    {"connect to*failed", Told::symptom, "R36", kNoWay, kNameInterface},
    {"watchdog caught collective operation timeout", Told::symptom, "R35",
     "a rank did not come to a collective that the others were in",
     "give gradwire analyze the flight recorder's dumps: TORCH_NCCL_TRACE_BUFFER_SIZE=2000 "
     "TORCH_NCCL_DUMP_ON_TIMEOUT=1"},
    {"watchdog got stuck", Told::symptom, "R35",
     "a rank's own watchdog stood still: a call of CUDA, or Python's lock, did not come back",
     "py-spy dump --native on that rank; TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC only delays it"},
    {"failed to pass monitoredbarrier", Told::symptom, "R35",
     "a rank did not come to a barrier that the others were in",
     "look at what that rank did instead: its stack (py-spy dump), its log, its input"},
    {"grad strides do not match bucket view", Told::aside, "R28",
     "gradients lie otherwise in memory than DistributedDataParallel's buckets: each is copied element by "
     "element",
     "loss and layers without transposed parameters; .contiguous() in a module's own backward; of 1x1 "
     "convolutions it costs nothing"},
    {"did not find any unused parameters", Told::remark, "R25",
     "DistributedDataParallel looks for unused parameters every step, and there are none",
     "find_unused_parameters=False"},
    {"cuda failure", Told::unexplained, "R00", kCudaFailed,
     "CUDA_LAUNCH_BLOCKING=1 to find the first that fails"},
    {"unhandled cuda error", Told::unexplained, "R00", kCudaFailed,
     "NCCL_DEBUG=INFO says which call; CUDA_LAUNCH_BLOCKING=1 finds the first that fails"},
    {"ncclremoteerror", Told::unexplained, "R00", kDiedElsewhere, kAskAll},
    {"unhandled system error", Told::unexplained, "R00", kNoReason, kAskAll},
    {"ncclinvalidusage", Told::unexplained, "R00", kNoReason, kAskAll},
    {"internal error - please report", Told::unexplained, "R00", kNoReason, kAskAll},
    {"ncclsystemerror", Told::unexplained, "R00", kNoReason, kAskAll},
    {"ncclinternalerror", Told::unexplained, "R00", kNoReason, kAskAll},
};

bool fits(std::string_view sign, const std::string& text) {
  std::size_t at = 0;
  for (const auto part : split(sign, '*')) {
    at = text.find(part, at);
    if (at == std::string::npos) return false;
    at += part.size();
  }
  return true;
}

std::string in_small_letters(std::string text) {
  std::transform(text.begin(), text.end(), text.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  return text;
}

}  // namespace

const KnownFailure& silent_peer() { return kSilentPeer; }

const KnownFailure* find_known_failure(const std::string& text) {
  const std::string small = in_small_letters(text);
  const auto known = std::find_if(std::begin(kFailures), std::end(kFailures),
                                  [&](const KnownFailure& failure) { return fits(failure.sign, small); });
  return known == std::end(kFailures) ? nullptr : known;
}

}  // namespace gradwire
