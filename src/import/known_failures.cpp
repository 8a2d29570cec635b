#include "import/known_failures.h"

#include <algorithm>
#include <iterator>
#include <string>

#include "import/quick_look.h"

namespace gradwire {
namespace {

constexpr const char* kSmallShm = "shared memory is too small for NCCL: a container has 64 MB of it";
constexpr const char* kMoreShm = "docker run --shm-size=1g ...  # or --ipc=host";
constexpr const char* kBrokenLink = "the InfiniBand or RoCE connection to a peer broke, or never came about";
constexpr const char* kMendLink =
    "ibv_devinfo; show_gids, NCCL_IB_GID_INDEX=3 for RoCE v2; NCCL_CROSS_NIC=0 where only cards of one "
    "number reach each other; check cables and switches with ib_write_bw";
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
    "machines of one name";
constexpr const char* kTogether =
    "docker run --ipc=host --gpus all for each, or one container for all; else NCCL_HOSTID different for "
    "each";
constexpr const char* kPinned = "the process may not lock the memory that the network card needs";
constexpr const char* kUnlimited = "ulimit -l unlimited; docker run --ulimit memlock=-1";
constexpr const char* kOldDriver = "the driver is older than the CUDA that NCCL was built for";
constexpr const char* kFitDriver = "update the driver, or install a build of PyTorch for an older CUDA";
constexpr const char* kOldBuild = "this build of NCCL or PyTorch has no code for this GPU";
constexpr const char* kNewerBuild =
    "install a build of PyTorch for a newer CUDA: pip install torch --index-url ...";
constexpr const char* kApartCalls = "ranks call different collectives, or not as many, or of other sizes";
constexpr const char* kFirstApart = "TORCH_DISTRIBUTED_DEBUG=DETAIL names the first call that differs";
constexpr const char* kAbsent = "a rank did not come to a collective that the others were in";
constexpr const char* kGiveDumps =
    "give gradwire analyze the flight recorder's dumps: TORCH_NCCL_TRACE_BUFFER_SIZE=2000 "
    "TORCH_NCCL_DUMP_ON_TIMEOUT=1";
constexpr const char* kNoEfa =
    "the plugin for EFA finds no card it can use, and NCCL falls back to TCP or gives up";
constexpr const char* kGiveEfa =
    "fi_info -p efa; give the container /dev/infiniband and EFA's libraries, allow all traffic inside the "
    "security group; FI_PROVIDER=efa";
constexpr const char* kNoPlugin = "NCCL_NET or NCCL_NET_PLUGIN names a network that NCCL does not find";
constexpr const char* kGivePlugin =
    "unset NCCL_NET and NCCL_NET_PLUGIN, or LD_LIBRARY_PATH with the folder of libnccl-net.so";
constexpr const char* kDiedElsewhere = "another rank died first, and what is here does not say of what";
constexpr const char* kGone = "a peer closed its connection: it died first, or the run was over";
constexpr const char* kNoReason = "NCCL failed, and what is here does not say why";
constexpr const char* kAskAll = "NCCL_DEBUG=INFO on every node, and give all the logs to gradwire doctor";
constexpr const char* kCudaFailed =
    "a call of CUDA failed inside NCCL; NCCL is seldom the cause, the call before it is";
constexpr const char* kCardBlind =
    "a network card was kept from the GPU's memory: bridges redirect what it sends (ACS), which breaks "
    "GPUDirect RDMA";
constexpr const char* kMendCard =
    "NCCL_NET_GDR_LEVEL=LOC tells: if it runs then, turn ACS off in the BIOS or by setpci, on every node "
    "(lspci -vv: ACSCtl); modprobe nvidia-peermem";
constexpr const char* kOtherModels = "ranks built different models";
constexpr const char* kSameModel =
    "one configuration and one checkpoint for every rank; no layer that only some ranks make";
constexpr const char* kFullByOthers =
    "a GPU's memory was full before this process could use it: every rank, or another run, is on it";

constexpr const char* kFirstFailing = "CUDA_LAUNCH_BLOCKING=1 to find the first that fails";
constexpr const char* kHipFailed =
    "a call of HIP failed inside RCCL; RCCL is seldom the cause, the call before it is";
constexpr const char* kFirstFailingOfHip = "AMD_SERIALIZE_KERNEL=3 to find the first that fails";
constexpr const char* kSayCall =
    "NCCL_DEBUG=INFO says which call; CUDA_LAUNCH_BLOCKING=1 finds the first that fails";

constexpr const char* kCrowded =
    "a GPU's memory is full, and several processes are on it: ranks allocate on GPUs that are not theirs";
constexpr const char* kOwnGpu =
    "torch.cuda.set_device(local_rank) first; torch.load(..., map_location=device)";
constexpr const char* kGuessed =
    "a barrier guesses its GPU by the rank's number; where that is another than the rank uses, it hangs";
constexpr const char* kSayDevice =
    "init_process_group(\"nccl\", device_id=torch.device(\"cuda\", local_rank))";
constexpr const char* kNoGpu = "a process sees no GPU at all";
constexpr const char* kShowGpus =
    "nvidia-smi -L where the process runs: docker run --gpus all, the job's --gres; CUDA_VISIBLE_DEVICES not "
    "empty; torch.version.cuda not None";
constexpr const char* kPortDown = "a port of an InfiniBand or RoCE card went down while the run was on";
constexpr const char* kMendPort =
    "ibstat, or ip -s link; dmesg | grep mlx5  # a cable, its transceiver or the switch's port; its errors: "
    "perfquery";
constexpr KnownFailure kSilentPeer = {
    "connect*refused*exceeded", Told::symptom, "R36",
    "a peer did not answer: it had died, or can't be reached over the network interface that NCCL took",
    "look at the log of the rank that did not answer; NCCL_SOCKET_IFNAME names the interface all nodes "
    "share"};

constexpr KnownFailure kFailures[] = {
    {"duplicate gpu detected", Told::cause, "R23", "two ranks use the same GPU",
     "torch.cuda.set_device(int(os.environ[\"LOCAL_RANK\"]))  # before anything else", Scope::any},
    {"has already checked in", Told::cause, "R23", "two processes say that they are the same rank",
     "one launcher for all: torchrun, or srun with RANK=$SLURM_PROCID; not one torchrun a task"},
    {"mismatched nccl version detected", Told::cause, "R07", "ranks run different versions of NCCL",
     "one build of PyTorch on every node and in every container; an old libnccl.so in LD_LIBRARY_PATH or "
     "LD_PRELOAD goes before it",
     Scope::any},
    {"no space left on device", Told::cause, "R18", kSmallShm, kMoreShm},
    {"shm*no space left on device", Told::cause, "R18", kSmallShm, kMoreShm, Scope::any},
    {"/torch_*no space left on device", Told::cause, "R18", kSmallShm, kMoreShm, Scope::any},
    {"no space left on device*shm", Told::cause, "R18", kSmallShm, kMoreShm, Scope::any},
    {"no space left on device*/torch_", Told::cause, "R18", kSmallShm, kMoreShm, Scope::any},
    {"shared memory object </torch_*too many open files", Told::cause, "R18",
     "a process may not open as many files as its loader shares with workers",
     "ulimit -n 65536; torch.multiprocessing.set_sharing_strategy(\"file_system\")", Scope::any},
    {"failed to extend /dev/shm", Told::cause, "R18", kSmallShm, kMoreShm},
    {"while creating shared memory segment", Told::cause, "R18", kSmallShm, kMoreShm},
    {"out of shared memory", Told::cause, "R18",
     "shared memory is too small for the loader's workers: a container has 64 MB of it", kMoreShm,
     Scope::any},
    {"attaching to shared memory segment", Told::symptom, "R17",
     "the shared memory of another rank was not there: it had died, or containers that NCCL takes for one "
     "machine do not share /dev/shm",
     "look at the first rank that failed; docker run --ipc=host for all of them"},
    {"signal 7 (sigbus)", Told::usual_cause, "R18", kSmallShm, kMoreShm, Scope::any},
    {"signal 7 (bus error", Told::usual_cause, "R18", kSmallShm, kMoreShm, Scope::any},
    {"nvlink sharp*multicast", Told::cause, "R20", kNoSharp, kMendSharp},
    {"system not yet initialized", Told::cause, "R20", kNoFabric, kStartFabric, Scope::any},
    {"cuda out of memory*. process *memory in use. process *memory in use", Told::cause, "R22", kCrowded,
     kOwnGpu, Scope::any},
    {"cuda out of memory*gpu 0 *. process *memory in use", Told::usual_cause, "R22", kCrowded, kOwnGpu,
     Scope::any},
    {"cuda error: out of memory", Told::usual_cause, "R22", kFullByOthers,
     "nvidia-smi  # whose memory it is; torch.cuda.set_device(local_rank) first", Scope::any},
    {"cuda out of memory. tried to allocate", Told::hint, "R00",
     "a GPU's memory is full: the run wants more than it has",
     "a smaller batch, activation checkpointing, FSDP or ZeRO; nvidia-smi  # whether another process is on "
     "it",
     Scope::any},
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
     "NCCL_P2P_DISABLE=1 until the driver or NCCL is updated, of vLLM and SGLang "
     "--disable-custom-all-reduce; nvidia-smi topo -p2p r",
     Scope::any},
    {"failed to open cuda ipc handle", Told::usual_cause, "R17", kApart, kTogether},
    {"p2p.cc*cuda failure*invalid argument", Told::usual_cause, "R17", kApart, kTogether},
    {"p2p.cc*cuda failure*invalid device ordinal", Told::usual_cause, "R17", kApart, kTogether},
    {"uncorrectable nvlink error", Told::cause, "R10", "an NVLink failed while it was used",
     "nvidia-smi nvlink -e; dmesg | grep Xid  # reseat the bridge, reset the GPUs, or have the board "
     "replaced",
     Scope::any},
    {"exceeds device/fn maxsharedmem", Told::cause, "R12",
     "this version of NCCL does not fit this GPU: its kernels want more shared memory than the GPU has",
     "pip install -U nvidia-nccl-cu12  # the version after the one that the log names"},
    {"driver version is insufficient", Told::cause, "R07", kOldDriver, kFitDriver, Scope::any},
    {"driver on your system is too old", Told::cause, "R07", kOldDriver, kFitDriver, Scope::any},
    {"unsupported display driver / cuda driver combination", Told::cause, "R07",
     "the driver's libraries are not of the version that the kernel has loaded",
     "reboot after an update of the driver; in a container the host's libraries, not its own: "
     "nvidia-container-toolkit, no cuda-compat in LD_LIBRARY_PATH",
     Scope::any},
    {"forward compatibility was attempted on non supported hw", Told::cause, "R07",
     "the container brings libraries of a newer driver (cuda-compat), which this GPU can't use",
     "take /usr/local/cuda/compat out of LD_LIBRARY_PATH; update the driver, or a container for an older "
     "CUDA",
     Scope::any},
    {"no kernel image is available", Told::cause, "R07", kOldBuild, kNewerBuild, Scope::any},
    {"named symbol not found", Told::cause, "R07", kOldBuild, kNewerBuild},
    {"invalid device function", Told::cause, "R07", kOldBuild, kNewerBuild},
    {"expected to have finished reduction", Told::cause, "R25",
     "some parameters got no gradient in a step, and DistributedDataParallel waits for all",
     "TORCH_DISTRIBUTED_DEBUG=DETAIL names them; use them in the loss, freeze them, or "
     "find_unused_parameters=True",
     Scope::any},
    {"expected to mark a variable ready only once", Told::cause, "R25",
     "a parameter got its gradient twice in a step: checkpointing or a shared layer under "
     "DistributedDataParallel",
     "DistributedDataParallel(model, static_graph=True), or checkpoint(..., use_reentrant=False)",
     Scope::any},
    {"invalid device ordinal", Told::usual_cause, "R23",
     "a process asks for a GPU that it does not see: more processes than GPUs, or a variable hides some",
     "torchrun --nproc-per-node N with as many as nvidia-smi -L lists; look at CUDA_VISIBLE_DEVICES",
     Scope::any},
    {"only supported with gpus, no gpus found", Told::cause, "R23", kNoGpu, kShowGpus, Scope::any},
    {"no cuda-capable device is detected", Told::cause, "R23", kNoGpu, kShowGpus, Scope::any},
    {"no cuda gpus are available", Told::cause, "R23", kNoGpu, kShowGpus, Scope::any},
    {"devices are busy or unavailable", Told::usual_cause, "R23",
     "a GPU is another process's: it is in exclusive mode, or two ranks take the same",
     "nvidia-smi -q -d COMPUTE; nvidia-smi -c DEFAULT; torch.cuda.set_device(local_rank) first", Scope::any},
    {"ddp expects same model*inconsistent 0 params", Told::symptom, "R35",
     "DistributedDataParallel's first exchange brought nothing of another rank: it hung, or that rank died",
     "look at the first rank that failed, and what it did before; NCCL_P2P_DISABLE=1 tells whether peer "
     "access carries nothing",
     Scope::any},
    {"ddp expects same model across all ranks", Told::cause, "R35", kOtherModels, kSameModel, Scope::any},
    {"not to match sizes of the same param in process", Told::cause, "R35", kOtherModels, kSameModel,
     Scope::any},
    {"detected mismatch between collectives", Told::cause, "R35", kApartCalls, kFirstApart, Scope::any},
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
    {"ibv_create_cq*failed", Told::usual_cause, "R37", kPinned, kUnlimited},
    {"ibv_create_qp*failed", Told::usual_cause, "R37", kPinned, kUnlimited},
    {"no socket interface found", Told::cause, "R36", kNoInterface, kNameInterface},
    {"is neither af_inet", Told::cause, "R36", kNoInterface, kNameInterface},
    {"no usable listening interface", Told::cause, "R36", kNoInterface, kNameInterface},
    {"ibv_modify_qp*failed", Told::symptom, "R37", kBrokenLink, kMendLink},
    {"got completion*with error 4,", Told::usual_cause, "R38", kCardBlind, kMendCard},
    {"got completion*with status=4 ", Told::usual_cause, "R38", kCardBlind, kMendCard},
    {"got completion with", Told::symptom, "R37", kBrokenLink, kMendLink},
    {"got completion from peer", Told::symptom, "R37", kBrokenLink, kMendLink},
    {"async event*port error", Told::symptom, "R37", kPortDown, kMendPort, Scope::nodes},
    {"async event*catastrophic", Told::symptom, "R37", kBrokenLink, kMendLink, Scope::nodes},
    {"async fatal event", Told::symptom, "R37", kBrokenLink, kMendLink, Scope::nodes},
    {"error: network*not found", Told::cause, "R37", kNoPlugin, kGivePlugin},
    {"failed to initialize any net plugin", Told::cause, "R37", kNoPlugin, kGivePlugin},
    {"net/ofi*provider", Told::symptom, "R37", kNoEfa, kGiveEfa, Scope::sockets},
    {"net/ofi*initialization", Told::symptom, "R37", kNoEfa, kGiveEfa, Scope::sockets},
    kSilentPeer,
    {"no route to host", Told::symptom, "R36", kNoWay, kNameInterface},
    {"connect*connection timed out", Told::symptom, "R36", kNoWay, kNameInterface},
    {"connect to*failed", Told::symptom, "R36", kNoWay, kNameInterface},
    {"connect returned*retrying", Told::symptom, "R36", kNoWay, kNameInterface},
    {"too many open files", Told::cause, "R36",
     "a process may not open as many files as NCCL has connections", "ulimit -n 65536"},
    {"server socket has failed to listen", Told::cause, "R36",
     "the port at which ranks meet is taken: by another run, or what is left of one",
     "torchrun --master-port 29501, or --rdzv-endpoint with another port; kill what is left", Scope::any},
    {"client socket has timed out", Told::symptom, "R36",
     "ranks do not meet: the first one's port is not reached, or it has not started",
     "MASTER_ADDR and MASTER_PORT as every node reaches them; open the firewall between nodes", Scope::any},
    {"watchdog caught collective operation timeout", Told::symptom, "R35", kAbsent, kGiveDumps, Scope::any},
    {"timeout at nccl work", Told::symptom, "R35", kAbsent, kGiveDumps, Scope::any},
    {"dump signal due to a collective timeout from", Told::symptom, "R35", kAbsent, kGiveDumps, Scope::any},
    {"watchdog got stuck", Told::symptom, "R35",
     "a rank's own watchdog stood still: a call of CUDA, or Python's lock, did not come back",
     "py-spy dump --native on that rank; TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC only delays it", Scope::any},
    {"failed to pass monitoredbarrier", Told::symptom, "R35",
     "a rank did not come to a barrier that the others were in",
     "look at what that rank did instead: its stack (py-spy dump), its log, its input", Scope::any},
    {"grad strides do not match bucket view", Told::aside, "R28",
     "gradients lie otherwise in memory than DistributedDataParallel's buckets: each is copied element by "
     "element",
     "loss and layers without transposed parameters; .contiguous() in a module's own backward; of 1x1 "
     "convolutions it costs nothing",
     Scope::any},
    {"did not find any unused parameters", Told::remark, "R25",
     "DistributedDataParallel looks for unused parameters every step, and there are none",
     "find_unused_parameters=False", Scope::any},
    {"driver shutting down", Told::noise, "", "", ""},  // at the end of a process, after all work
    {"context is destroyed", Told::noise, "", "", ""},
    {"numa auto balancing enabled", Told::hint, "R21",
     "the kernel moves memory between sockets while the run uses it", "sysctl kernel.numa_balancing=0"},
    {"missing \"iommu=pt\"", Told::hint, "R14", "the kernel was not told to let devices pass the IOMMU",
     "iommu=pt on the kernel's command line"},
    {"to perform barrier as devices used by this process are currently unknown", Told::hint, "R23", kGuessed,
     kSayDevice, Scope::any},
    {"as device used by this process is currently unknown", Told::hint, "R23", kGuessed, kSayDevice,
     Scope::any},
    {"cuda failure", Told::unexplained, "R00", kCudaFailed, kFirstFailing},
    {"hip failure", Told::unexplained, "R00", kHipFailed, kFirstFailingOfHip},
    {"hipipc*failed", Told::unexplained, "R00", kHipFailed, kFirstFailingOfHip},
    {"unhandled cuda error", Told::unexplained, "R00", kCudaFailed, kSayCall, Scope::any},
    {"ncclunhandledcudaerror", Told::unexplained, "R00", kCudaFailed, kSayCall, Scope::any},
    {"watchdog thread terminated with exception", Told::unexplained, "R00", kCudaFailed, kFirstFailing,
     Scope::any},
    {"signal 9 (sigkill)", Told::usual_cause, "R00",
     "a rank was killed from outside, as the kernel does where the host's memory is full",
     "dmesg | grep -i oom, or the scheduler's word for it: ask for more memory, or fewer workers of loaders",
     Scope::any},
    {"ncclremoteerror", Told::unexplained, "R00", kDiedElsewhere, kAskAll, Scope::any},
    {"unhandled system error", Told::unexplained, "R00", kNoReason, kAskAll, Scope::any},
    {"ncclinvalidusage", Told::unexplained, "R00", kNoReason, kAskAll, Scope::any},
    {"internal error - please report this issue to the nccl", Told::unexplained, "R00", kNoReason, kAskAll,
     Scope::any},
    {"ncclsystemerror", Told::unexplained, "R00", kNoReason, kAskAll, Scope::any},
    {"ncclinternalerror", Told::unexplained, "R00", kNoReason, kAskAll, Scope::any},
    {"nccl error*remote process exited", Told::unexplained, "R00", kDiedElsewhere, kAskAll, Scope::any},
    {"nccl error*invalid usage", Told::unexplained, "R00", kNoReason, kAskAll, Scope::any},
    {"nccl error*internal error", Told::unexplained, "R00", kNoReason, kAskAll, Scope::any},
    {"failed to execute operation", Told::unexplained, "R00", kDiedElsewhere, kAskAll},
    {"socket recv failed while polling", Told::unexplained, "R00", kDiedElsewhere, kAskAll},
    {"connection closed by remote peer", Told::hint, "R00", kGone, kAskAll},
    {"call to recv from*failed", Told::hint, "R00", kGone, kAskAll},
};

constexpr std::string_view longest_part(std::string_view sign) {
  std::string_view longest;
  while (true) {
    const auto star = sign.find('*');
    if (sign.substr(0, star).size() > longest.size()) longest = sign.substr(0, star);
    if (star == std::string_view::npos) return longest;
    sign.remove_prefix(star + 1);
  }
}

// What anybody may say, and kLastError.
constexpr auto make_look() {
  QuickLook<std::size(kFailures) + 1> look;
  look.add(kLastError);
  for (const KnownFailure& failure : kFailures)
    if (failure.scope == Scope::any) look.add(longest_part(failure.sign));
  return look;
}

constexpr auto kLook = make_look();

bool fits(std::string_view sign, std::string_view text) {
  for (;;) {
    const auto star = sign.find('*');
    const auto at = text.find(sign.substr(0, star));
    if (at == std::string_view::npos) return false;
    if (star == std::string_view::npos) return true;
    text.remove_prefix(at + star);
    sign.remove_prefix(star + 1);
  }
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::transform(small.begin(), small.end(), small.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return small;
}

bool is_told_by_anybody(std::string_view line) {
  return std::any_of(std::begin(kFailures), std::end(kFailures), [&](const KnownFailure& failure) {
    return failure.scope == Scope::any && fits(failure.sign, line);
  });
}

}  // namespace

const KnownFailure& silent_peer() { return kSilentPeer; }

const KnownFailure* find_known_failure(std::string_view text) {
  const std::string small = in_small_letters(text);
  const auto known = std::find_if(std::begin(kFailures), std::end(kFailures),
                                  [&](const KnownFailure& failure) { return fits(failure.sign, small); });
  return known == std::end(kFailures) ? nullptr : known;
}

bool may_tell_of_failure(std::string_view text) { return kLook.may_be_in(text); }

bool tells_of_failure(std::string_view text) {
  if (!may_tell_of_failure(text)) return false;
  const std::string small = in_small_letters(text);
  for (std::string_view rest = small;;) {
    const auto end = rest.find('\n');
    if (is_told_by_anybody(rest.substr(0, end))) return true;
    if (end == std::string_view::npos) return false;
    rest.remove_prefix(end + 1);
  }
}

}  // namespace gradwire
