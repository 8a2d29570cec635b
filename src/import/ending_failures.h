// What is said of a run's end where that is not its reason: NCCL's and CUDA's errors as such, a rank that was killed or crashed,
// one that saw another's end, schedulers. Asked after all tables that know more.
// Data of known_failures.cpp, which alone includes it. The first that fits counts: what is special stands before what is general.
#pragma once

#include "import/failure_meanings.h"

namespace gradwire {

constexpr Meaning kCudaFailed = {"R00", kCudaInNccl, "CUDA_LAUNCH_BLOCKING=1 to find the first that fails"};
constexpr Meaning kHipFailed = {
    "R00", "a call of HIP failed inside RCCL; RCCL is seldom the cause, the call before it is",
    "AMD_SERIALIZE_KERNEL=3 to find the first that fails"};
constexpr Meaning kCudaFailedSomewhere = {
    "R00", kCudaInNccl, "NCCL_DEBUG=INFO says which call; CUDA_LAUNCH_BLOCKING=1 finds the first that fails"};
constexpr Meaning kOtherXid = {
    "R00",
    "the driver reports an event of a GPU (Xid) that need not be a fault: as often as not a program's own "
    "error, or what comes of it",
    "NVIDIA's list of Xid numbers says what this one is; look at what the run printed at that moment"};
constexpr Meaning kDriverFailed = {
    "R00", "the GPUs' driver says that something failed",
    "nvidia-smi  # whether it lists every GPU; reboot after an update of the driver, then look at the lines "
    "around it"};
constexpr Meaning kGone = {"R00", "a peer closed its connection: it died first, or the run was over",
                           kAskAll};
constexpr Meaning kHalfGpu = {
    "R19",
    "the driver can't do here what NCCL asks of it: in virtual machines (vGPU), slices of a GPU (MIG) "
    "and WSL a part of CUDA is missing",
    "NCCL_CUMEM_ENABLE=0; then NCCL_NVLS_ENABLE=0, NCCL_P2P_DISABLE=1 tell which; update the driver; of vGPU "
    "unified memory must be turned on; of MIG NCCL joins no two slices of one GPU"};
constexpr Meaning kNoStart = {
    "R00", "CUDA can't be started in a process: it was forked after CUDA was used, or the driver is not well",
    "nvidia-smi, and python -c 'import torch; torch.cuda.init()' on that GPU alone; "
    "set_start_method(\"spawn\"); dmesg | grep NVRM"};
constexpr Meaning kTimeUp = {"R00", "the scheduler ended the job, for its time was up",
                             "ask for more time (#SBATCH --time), save checkpoints and resume; if it stood "
                             "still before, py-spy dump tells where"};
constexpr Meaning kPreempted = {"R00", "the scheduler took the nodes away: preempted, or a node failed",
                                "sacct -j JOB; checkpoints and --requeue"};

constexpr KnownFailure kEndingFailures[] = {
    {"driver shutting down", Told::noise, Meaning{}},       // at the end of a process, after all work
    {"failed to open libibverbs", Told::noise, Meaning{}},  // a machine without InfiniBand
    {"could not find ncclgetversion symbol", Told::noise, Meaning{}},
    {"context is destroyed", Told::noise, Meaning{}},
    {"cuda failure*cuda driver is a stub library", Told::cause, kStubDriver},
    {"cuda failure*operation not supported", Told::usual_cause, kHalfGpu},
    {"cuda failure*initialization error", Told::unexplained, kNoStart},
    {"cuda failure", Told::unexplained, kCudaFailed},
    {"hip failure", Told::unexplained, kHipFailed},
    {"hipipc*failed", Told::unexplained, kHipFailed},
    {"unhandled cuda error", Told::unexplained, kCudaFailedSomewhere, Scope::any},
    {"ncclunhandledcudaerror", Told::unexplained, kCudaFailedSomewhere, Scope::any},
    {"signal 9 (sigkill)", Told::usual_cause, kKilled, Scope::any},
    {"(exitcode: -9)", Told::usual_cause, kKilled, Scope::any},
    {"exits with return code = -9", Told::usual_cause, kKilled, Scope::any},
    {"exited on signal 9 (killed)", Told::usual_cause, kKilled, Scope::any},
    {"killed by signal: killed", Told::usual_cause, kKilled, Scope::any},
    {"oom_kill event", Told::cause, kKilled, Scope::any},
    {"oom killed", Told::cause, kKilled, Scope::any},
    {"oomkilled", Told::cause, kKilled, Scope::any},
    {"exceeded job memory limit", Told::cause, kKilled, Scope::any},
    {"exceeded step memory limit", Told::cause, kKilled, Scope::any},
    {"signal 11 (sigsegv)", Told::symptom, kCrashed, Scope::any},
    {"(exitcode: -11)", Told::symptom, kCrashed, Scope::any},
    {"exits with return code = -11", Told::symptom, kCrashed, Scope::any},
    {"exited on signal 11 (segmentation fault)", Told::symptom, kCrashed, Scope::any},
    {"gloo/transport/tcp*connection closed by peer", Told::unexplained, kDiedElsewhere, Scope::any},
    {"gloo/transport/tcp*connection reset by peer", Told::unexplained, kDiedElsewhere, Scope::any},
    {"nccl communicator was aborted on rank", Told::unexplained, kDiedElsewhere, Scope::any},
    {"\"should dump\" flag on tcpstore", Told::unexplained, kStoreGone, Scope::any},
    {"[c10d] sendbytes failed", Told::unexplained, kStoreGone, Scope::any},
    {"[c10d] recvvalue failed", Told::unexplained, kStoreGone, Scope::any},
    {"did the remote server shutdown or crash", Told::unexplained, kStoreGone, Scope::any},
    {"runtimeerror: connection reset by peer", Told::unexplained, kDiedElsewhere, Scope::any},
    {"runtimeerror: broken pipe", Told::unexplained, kDiedElsewhere, Scope::any},
    {"distnetworkerror: ", Told::unexplained, kStoreGone, Scope::any},
    {"ncclremoteerror", Told::unexplained, kDiedElsewhere, Scope::any},
    {"unhandled system error", Told::unexplained, kNoReason, Scope::any},
    {"ncclinvalidusage", Told::unexplained, kNoReason, Scope::any},
    {"internal error - please report this issue to the nccl", Told::unexplained, kNoReason, Scope::any},
    {"ncclsystemerror", Told::unexplained, kNoReason, Scope::any},
    {"ncclinternalerror", Told::unexplained, kNoReason, Scope::any},
    {"nccl error*remote process exited", Told::unexplained, kDiedElsewhere, Scope::any},
    {"nccl error*invalid usage", Told::unexplained, kNoReason, Scope::any},
    {"nccl error*internal error", Told::unexplained, kNoReason, Scope::any},
    {"watchdog thread terminated with exception", Told::unexplained, kCudaFailed, Scope::any},
    {"failed to execute operation", Told::unexplained, kDiedElsewhere},
    {"error encountered progressing operation", Told::unexplained, kDiedElsewhere},
    {"socket recv failed while polling", Told::unexplained, kDiedElsewhere},
    {"connection closed by remote peer", Told::echo, kGone},
    {"call to recv from*failed", Told::echo, kGone},
    // Who ended a run that may have stood still before: anything else that it said tells more.
    {"cancelled at*due to time limit", Told::unexplained, kTimeUp, Scope::any},
    {"reaching lsf run time limit", Told::unexplained, kTimeUp, Scope::any},
    {"pbs: job killed: walltime", Told::unexplained, kTimeUp, Scope::any},
    {"cancelled at*due to preemption", Told::unexplained, kPreempted, Scope::any},
    {"cancelled at*due to node fail", Told::unexplained, kPreempted, Scope::any},
    {"slurmstepd: error:*cancelled at", Told::unexplained, kStopped, Scope::any},
    {"signals.sighup death signal", Told::unexplained, kStopped, Scope::any},
    {"received 1 death signal", Told::unexplained, kStopped, Scope::any},
    {"got signal: 1", Told::unexplained, kStopped, Scope::any},  // SIGHUP, SIGTERM
    {"nvrm: xid", Told::hint, kOtherXid, Scope::any},
    {"nvrm: gpu*failed", Told::hint, kDriverFailed, Scope::any},
    {"nvrm: api*mismatch", Told::hint, kDriverFailed, Scope::any},
};

}  // namespace gradwire
