// What launchers, schedulers, frameworks and programs themselves print when a rank ends. Data of known_failures.cpp, which alone
// includes it. Asked after all other tables, whose words are more special; the first that fits counts.
#pragma once

#include "import/failure_meanings.h"

namespace gradwire {

constexpr Meaning kRankFailed = {
    "R00",
    "a rank failed, and what is here does not say of what: its own error stands above, or in its own log",
    "torchrun --redirects 3 --log-dir logs, then the end of that rank's stderr.log; @record on main() "
    "(torch.distributed.elastic.multiprocessing.errors) lets torchrun quote it",
    Effect::rank_failed};
constexpr Meaning kWorkerOfRay = {
    "R00", "a worker of Ray died, and what is here does not say of what: killed for its memory, or crashed",
    "ray logs, of that worker's node and process; dmesg | grep -i oom there", Effect::rank_failed};
constexpr Meaning kOtherDevice = {
    "R22",
    "a tensor, or a part of the model, is on another device than the rest: the CPU, or another rank's GPU",
    "device = torch.device(\"cuda\", local_rank); model.to(device) before it is wrapped, each batch "
    ".to(device), "
    "device_ids=[local_rank]; no device_map=\"auto\" under DistributedDataParallel"};
constexpr Meaning kSpreadModel = {
    "R22", "the model was loaded over all GPUs (device_map=\"auto\"), and every rank wants it on its own",
    "from_pretrained(..., device_map={\"\": local_rank}), or none at all, where several processes train"};
constexpr Meaning kOnHost = {
    "R22", "NCCL was given a tensor that is not on a GPU: it carries none of the CPU's",
    "tensor.to(device) before the collective, or init_process_group(\"cpu:gloo,cuda:nccl\")"};
constexpr Meaning kSavedElsewhere = {
    "R22", "a checkpoint is loaded onto the GPU that it was saved from, which this process does not have",
    "torch.load(path, map_location=device)"};
constexpr Meaning kNoGroup = {
    "R23",
    "a collective or DistributedDataParallel is used before init_process_group(): the script was started "
    "without a launcher, or as for a single GPU",
    "torchrun --nproc-per-node N train.py, also for N = 1; on one GPU BatchNorm for SyncBatchNorm, no "
    "DistributedDataParallel"};
constexpr Meaning kOldLaunch = {
    "R23", "the launcher hands --local-rank to a script that does not take it",
    "torchrun instead of torch.distributed.launch, and int(os.environ[\"LOCAL_RANK\"]) in the script"};
constexpr Meaning kTooFewGpus = {
    "R23", "more GPUs, or processes, are asked for than there are",
    "nvidia-smi -L where it runs: as many processes as it lists; CUDA_VISIBLE_DEVICES, the job's --gres"};
constexpr Meaning kOtherTasks = {
    "R23",
    "the job starts another number of tasks than the script expects: ranks are missing, or there twice",
    "#SBATCH --nodes and --ntasks-per-node as num_nodes and devices of the Trainer, and srun python "
    "train.py"};
constexpr Meaning kUnsuitedWorld = {"R23",
                                    "sizes that the configuration gives do not fit the number of ranks",
                                    "batch = micro batch * accumulation * ranks; ranks a multiple of tensor "
                                    "* pipeline * context parallel sizes"};
constexpr Meaning kFullForNccl = {
    "R22", "memory was full when NCCL wanted some: a GPU's, mostly, where every rank or another run is on it",
    "nvidia-smi  # whose memory it is; torch.cuda.set_device(local_rank) first; a smaller batch"};
constexpr Meaning kOtherHeader = {
    "R07", "the NCCL that is loaded is not the one that the program was built for",
    "one build of PyTorch with its own NCCL; no other libnccl.so in LD_LIBRARY_PATH or LD_PRELOAD"};
constexpr Meaning kWorkerDied = {
    "R18",
    "a worker of a data loader died: killed for its memory, by a /dev/shm that is full, or by an error of "
    "its own",
    "num_workers=0 shows its error; df -h /dev/shm (docker run --shm-size=8g); dmesg | grep -i oom"};
constexpr Meaning kFilesOfLoader = {
    "R18", "a process may not open as many files as its loader shares with workers",
    "ulimit -n 65536; torch.multiprocessing.set_sharing_strategy(\"file_system\")"};
constexpr Meaning kNoSuchInterface = {
    "R36", "GLOO_SOCKET_IFNAME names no interface of this machine, or its host's name has no address",
    "ip addr; GLOO_SOCKET_IFNAME=eth0  # one that is there; the host's own name in /etc/hosts"};
constexpr Meaning kTooFewSlots = {
    "R23", "mpirun is asked for more processes than the hosts have slots",
    "-H node1:8,node2:8, or slots=8 in the hostfile; -np as many as all of them"};
constexpr Meaning kWrapped = {
    "R00", "the script asks a wrapped model for what the model inside of it has",
    "model.module.name; module = model.module if hasattr(model, \"module\") else model"};
constexpr Meaning kSavedWrapped = {
    "R00",
    "a checkpoint of a wrapped model meets one that is not wrapped, or the other way round: names begin with "
    "module.",
    "save model.module.state_dict(), or strip \"module.\" from the keys as it is loaded"};
constexpr Meaning kFrozen = {"R25", "DistributedDataParallel is given a model without any parameter to train",
                             "wrap what trains alone, or requires_grad_(True) first"};
constexpr Meaning kRewritten = {
    "R27",
    "a tensor that backward needs was overwritten; under DistributedDataParallel a second forward before "
    "backward does that, for it broadcasts buffers",
    "DistributedDataParallel(..., broadcast_buffers=False), or one forward a step"};
constexpr Meaning kNoDirectReduce = {
    "R12",
    "GPUs may not reach each other directly, or a test of it failed: all-reduces go through host memory",
    "nvidia-smi topo -p2p r; ACS and IOMMU of the board; GeForce cards without NVLink may not at all",
    Effect::peers_refused};
constexpr Meaning kPcieAlone = {
    "R05", "not all of these GPUs are joined by NVLink, so all-reduces are NCCL's over PCIe",
    "nvidia-smi topo -m  # which pairs have NVLink: keep tensor parallelism inside of those"};

constexpr Meaning kNoNcclInside = {
    "R07", "this build of PyTorch has no NCCL: one for CPUs, for Windows, or made without it",
    "a build for CUDA (torch.cuda.nccl.version() says); on Windows init_process_group(\"gloo\")"};
constexpr Meaning kNoAlgorithm = {
    "R40", "NCCL_ALGO or NCCL_PROTO leaves NCCL no way to do a collective: what it names is not there",
    "unset NCCL_ALGO and NCCL_PROTO"};
constexpr Meaning kHungGpu = {"R00", "a GPU hung, and its driver gave up on what it ran",
                              "dmesg | grep -i amdgpu; rocm-smi; update ROCm, firmware and the kernel's "
                              "driver; have the board looked at "
                              "if it is always the same"};

constexpr Meaning kNotLaunched = {"R23", "the scheduler could not start the job's tasks on a node",
                                  "sinfo -R, and the node's own slurmd log; its clock, its munge key and its "
                                  "configuration must be those of "
                                  "the others; --exclude that node"};

constexpr Meaning kCallOfCuda = {
    "R00", "a call of CUDA or HIP failed in a rank's own program, at or before the line that says so",
    "CUDA_LAUNCH_BLOCKING=1 (AMD_SERIALIZE_KERNEL=3) names the call; nvidia-smi and dmesg | grep -i nvrm "
    "tell "
    "whether a GPU is not well"};

constexpr KnownFailure kProgramFailures[] = {
    {"expected all tensors to be on the same device", Told::cause, kOtherDevice, Scope::any},
    {"module must have its parameters and buffers on device", Told::cause, kOtherDevice, Scope::any},
    {"only work with single-device/multiple-device gpu modules", Told::cause, kOtherDevice, Scope::any},
    {"should be the same or input should be a mkldnn tensor", Told::cause, kOtherDevice, Scope::any},
    {"input type (torch.cuda.*and weight type (torch.float", Told::cause, kOtherDevice, Scope::any},
    {"input type (torch.float*and weight type (torch.cuda.", Told::cause, kOtherDevice, Scope::any},
    {"expected object of device type cuda but got device type cpu", Told::cause, kOtherDevice, Scope::any},
    {"arguments are located on different gpus", Told::cause, kOtherDevice, Scope::any},
    {"precision on a different device than the one you're training on", Told::cause, kSpreadModel,
     Scope::any},
    {"with `device_map='auto'` in any distributed mode", Told::cause, kSpreadModel, Scope::any},
    {"tensors must be cuda and dense", Told::cause, kOnHost, Scope::any},
    {"no backend type associated with device type cpu", Told::cause, kOnHost, Scope::any},
    {"attempting to deserialize object on cuda device", Told::cause, kSavedElsewhere, Scope::any},
    {"default process group has not been initialized", Told::cause, kNoGroup, Scope::any},
    {"default process group is not initialized", Told::cause, kNoGroup, Scope::any},
    {"only supported in process-group mode", Told::cause, kNoGroup, Scope::any},
    {"keyerror: 'local_rank'", Told::cause, kNoLauncher, Scope::any},
    {"keyerror: 'world_size'", Told::cause, kNoLauncher, Scope::any},
    {"keyerror: 'master_addr'", Told::cause, kNoLauncher, Scope::any},
    {"keyerror: 'rank'", Told::cause, kNoLauncher, Scope::any},
    {"unrecognized arguments: --local-rank", Told::cause, kOldLaunch, Scope::any},
    {"unrecognized arguments: --local_rank", Told::cause, kOldLaunch, Scope::any},
    {"but your machine only has: ", Told::cause, kTooFewGpus, Scope::any},
    {"device >= 0 && device < num_gpus", Told::cause, kTooFewGpus, Scope::any},
    {"no slot '*specified on host", Told::cause, kTooFewGpus, Scope::any},
    {"not enough slots available in the system", Told::cause, kTooFewSlots, Scope::any},
    {"srun: error: task launch for*failed", Told::cause, kNotLaunched, Scope::any},
    {"srun: error: unable to create step", Told::cause, kNotLaunched, Scope::any},
    {"you requested*gpus but launched*slurm tasks", Told::remark, kOtherTasks, Scope::any},
    {"number of tasks per node configured in slurm*does not match", Told::cause, kOtherTasks, Scope::any},
    {"number of nodes configured in slurm*does not match", Told::cause, kOtherTasks, Scope::any},
    {"you set `--ntasks=*but this variable is not supported", Told::cause, kOtherTasks, Scope::any},
    {"the `srun` command is available on your system but is not used", Told::hint, kOtherTasks, Scope::any},
    {"check batch related parameters", Told::cause, kUnsuitedWorld, Scope::any},
    {"world size*is not divisible by", Told::cause, kUnsuitedWorld, Scope::any},
    {"world_size*is not divisible by", Told::cause, kUnsuitedWorld, Scope::any},
    {"on port*but another process is utilizing it", Told::cause, kPortTaken, Scope::any},
    {"[errno 98] address already in use", Told::usual_cause, kPortTaken, Scope::any},
    {"(errno: 98 - address already in use)", Told::cause, kPortTaken, Scope::any},
    {"distributed package doesn't have nccl built in", Told::cause, kNoNcclInside, Scope::any},
    {"cuda driver is a stub library", Told::cause, kStubDriver, Scope::any},
    {"no algorithm/protocol available", Told::cause, kNoAlgorithm, Scope::any},
    {"net/ofi couldn't find any optimal provider", Told::symptom, kNoEfa, Scope::any},
    {"hw exception by gpu", Told::cause, kHungGpu, Scope::any},
    {"amdgpu*ring*timeout, signaled", Told::cause, kHungGpu, Scope::any},
    {"amdgpu: sq_intr: error", Told::usual_cause, kStrayAccess, Scope::any},
    {"amdgpu*page fault", Told::usual_cause, kStrayAccess, Scope::any},
    {"hiperrornobinaryforgpu", Told::cause, kOldBuild, Scope::any},
    {"hip error: invalid device function", Told::cause, kOldBuild, Scope::any},
    {"failed to cuda calloc", Told::cause, kFullForNccl, Scope::any},
    {"failed to cuda host alloc", Told::cause, kFullForNccl, Scope::any},
    {"invalid config blocking attribute value", Told::cause, kOtherHeader, Scope::any},
    {"because /dev/shm has only", Told::remark, kSmallShm, Scope::any},
    {"unable to write to file </torch_", Told::cause, kSmallShm, Scope::any},
    {"unable to resize file </torch_", Told::cause, kSmallShm, Scope::any},
    {"fatal python error: bus error", Told::usual_cause, kSmallShm, Scope::any},
    {"signal: bus error (7)", Told::usual_cause, kSmallShm, Scope::any},
    {"bus error (core dumped)", Told::usual_cause, kSmallShm, Scope::any},
    {"received 0 items of ancdata", Told::usual_cause, kFilesOfLoader, Scope::any},
    {"(s) killed due to memory pressure (oom)", Told::cause, kKilled, Scope::any},
    {"killed due to the node running low on memory", Told::cause, kKilled, Scope::any},
    {"oom-kill event", Told::cause, kKilled, Scope::any},
    {"invoked oom-killer", Told::cause, kKilled, Scope::any},
    {"out of memory: kill process", Told::cause, kKilled, Scope::any},
    {"terminated with signal sigkill", Told::usual_cause, kKilled, Scope::any},
    {"signals.sigkill", Told::usual_cause, kKilled, Scope::any},
    {" killed  *py", Told::usual_cause, kKilled,
     Scope::any},  // a shell's: "run.sh: line 3: 41 Killed    python"
    {"srun: error: *: killed", Told::usual_cause, kKilled, Scope::any},
    {"exit code 137", Told::usual_cause, kKilled, Scope::any},
    {"exited with code 137", Told::usual_cause, kKilled, Scope::any},
    {"exit status 137", Told::usual_cause, kKilled, Scope::any},
    {"exits with return code = -7", Told::usual_cause, kSmallShm, Scope::any},
    {"exitcode  : -9 ", Told::usual_cause, kKilled, Scope::any},
    {"exitcode  : -7 ", Told::usual_cause, kSmallShm, Scope::any},
    {"exitcode  : -11 ", Told::symptom, kCrashed, Scope::any},
    {"dataloader worker*killed by signal", Told::symptom, kWorkerDied, Scope::any},
    {"dataloader worker*exited unexpectedly", Told::symptom, kWorkerDied, Scope::any},
    {"unable to find address for: ", Told::cause, kNoSuchInterface, Scope::any},
    {"ssh: connect to host", Told::usual_cause, kNoSsh, Scope::any},
    {"permission denied (publickey", Told::usual_cause, kNoSsh, Scope::any},
    {": ssh exited with exit code 255", Told::usual_cause, kNoSsh, Scope::any},
    {"runtimeerror: socket timeout", Told::symptom, kNoMeeting, Scope::any},
    {"wait timeout after*ms, keys: ", Told::symptom, kNoMeeting, Scope::any},
    {"gaierror: [errno -", Told::symptom, kNoMeeting, Scope::any},
    {"socketstartconnect: connect to*failed", Told::symptom, kNoWay, Scope::any},
    {"rendezvousclosederror", Told::unexplained, kDiedElsewhere, Scope::any},
    {"'distributeddataparallel' object has no attribute", Told::cause, kWrapped, Scope::any},
    {"'dataparallel' object has no attribute", Told::cause, kWrapped, Scope::any},
    {"key(s) in state_dict: \"module.", Told::cause, kSavedWrapped, Scope::any},
    {"distributeddataparallel is not needed when a module doesn't have any parameters", Told::cause, kFrozen,
     Scope::any},
    {"needed for gradient computation has been modified by an inplace operation", Told::hint, kRewritten,
     Scope::any},
    {"custom allreduce is disabled*lacks gpu p2p capability", Told::remark, kNoDirectReduce, Scope::any},
    {"custom allreduce is disabled*pcie-only gpus", Told::hint, kPcieAlone, Scope::any},
    {"fatal python error: segmentation fault", Told::symptom, kCrashed, Scope::any},
    {"signal: segmentation fault (11)", Told::symptom, kCrashed, Scope::any},
    {"segmentation fault (core dumped)", Told::symptom, kCrashed, Scope::any},
    {"terminated with signal sigsegv", Told::symptom, kCrashed, Scope::any},
    {"exit code 139", Told::symptom, kCrashed, Scope::any},
    // A rank's watchdog gave up, on a call that did not end or on one that failed: the line that says which was left out.
    {"some nccl operations have failed or timed out", Told::unexplained, kAbsent, Scope::any},
    {"failure detected by watchdog at work", Told::unexplained, kAbsent, Scope::any},
    {"(either an error or timeout) detected by watchdog", Told::unexplained, kAbsent, Scope::any},
    {"nccl communicator was aborted", Told::unexplained, kDiedElsewhere, Scope::any},
    {"found key in store ncclabortedcomm", Told::unexplained, kDiedElsewhere, Scope::any},
    {"nccl operation*failed: ", Told::unexplained, kNoReason, Scope::any},
    {"ofi nccl failure", Told::unexplained, kNoReason, Scope::any},
    {"ncclinvalidargument", Told::unexplained, kNoReason, Scope::any},
    {"nccl error*invalid argument", Told::unexplained, kNoReason, Scope::any},
    {"stop_waiting response is expected", Told::unexplained, kStoreGone, Scope::any},
    {"has lost communication with a remote daemon", Told::unexplained, kDiedElsewhere, Scope::any},
    {"error: cuda error: ", Told::unexplained, kCallOfCuda, Scope::any},
    {"error: cuda driver error: ", Told::unexplained, kCallOfCuda, Scope::any},
    {"error: hip error: ", Told::unexplained, kCallOfCuda, Scope::any},
    // Who started the ranks, of one that ended: whatever else was said tells more.
    {"worker died or was killed while executing a task", Told::unexplained, kWorkerOfRay, Scope::any},
    {"actor is dead because its worker process has died", Told::unexplained, kWorkerOfRay, Scope::any},
    {"worker unexpectedly exits with a connection error", Told::unexplained, kWorkerOfRay, Scope::any},
    {"the actor died unexpectedly before finishing", Told::unexplained, kWorkerOfRay, Scope::any},
    {"failed (exitcode: *local_rank: ", Told::unexplained, kRankFailed, Scope::any},
    {"childfailederror", Told::unexplained, kRankFailed, Scope::any},
    {"exitcode  : *(pid: ", Told::unexplained, kRankFailed, Scope::any},
    {"processraisedexception", Told::unexplained, kRankFailed, Scope::any},
    {"terminated with the following error", Told::unexplained, kRankFailed, Scope::any},
    {"processexitedexception", Told::unexplained, kRankFailed, Scope::any},
    {"exits with return code = ", Told::unexplained, kRankFailed, Scope::any},
    {"one or more processes exited with non-zero status", Told::unexplained, kRankFailed, Scope::any},
    {"process returned a non-zero exit code", Told::unexplained, kRankFailed, Scope::any},
    {"processes exited with non-zero status", Told::unexplained, kRankFailed, Scope::any},
    {"srun: error: *: exited with exit code", Told::unexplained, kRankFailed, Scope::any},
    {"calledprocesserror: command '*returned non-zero exit status", Told::unexplained, kRankFailed,
     Scope::any},
    {" aborted  *(core dumped)", Told::unexplained, kCrashed, Scope::any},  // a shell's
    {"signal 6 (sigabrt)", Told::unexplained, kCrashed, Scope::any},
    {"(exitcode: -6)", Told::unexplained, kCrashed, Scope::any},
    {"terminated with signal sigabrt", Told::unexplained, kCrashed, Scope::any},
    {"received 15 death signal", Told::unexplained, kStopped, Scope::any},
};

}  // namespace gradwire
