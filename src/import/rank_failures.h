// What PyTorch, NCCL and Horovod say of ranks that wait for each other, or are not alike.
// Data of known_failures.cpp, which alone includes it. The first that fits counts: what is special stands before what is general.
#pragma once

#include "import/failure_meanings.h"

namespace gradwire {

constexpr Meaning kOtherModels = {
    "R35", "ranks built different models",
    "one configuration and one checkpoint for every rank; no layer that only some ranks make"};
constexpr Meaning kApartCalls = {"R35", "ranks call different collectives, or not as many, or of other sizes",
                                 "TORCH_DISTRIBUTED_DEBUG=DETAIL names the first call that differs"};
constexpr Meaning kGuessed = {
    "R23",
    "a barrier guesses its GPU by the rank's number; where that is another than the rank uses, it hangs",
    "init_process_group(\"nccl\", device_id=torch.device(\"cuda\", local_rank))"};
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

constexpr KnownFailure kRankFailures[] = {
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
    {"ddp expects same model*inconsistent 0 params", Told::symptom,
     Meaning{"R35",
             "DistributedDataParallel's first exchange brought nothing of another rank: it hung, or that "
             "rank died",
             "look at the first rank that failed, and what it did before; NCCL_P2P_DISABLE=1 tells whether "
             "peer access carries nothing",
             Effect::ranks_wait},
     Scope::any},
    {"ddp expects same model across all ranks", Told::cause, kOtherModels, Scope::any},
    {"not to match sizes of the same param in process", Told::cause, kOtherModels, Scope::any},
    {"detected mismatch between collectives", Told::cause, kApartCalls, Scope::any},
    {"message truncated", Told::usual_cause, kApartCalls},
    {"collective mismatch", Told::cause, kApartCalls},
    {"mismatched collective", Told::cause, kApartCalls},
    {"caught collective operation timeout", Told::symptom, kAbsent, Scope::any},
    {"timed out in blocking wait", Told::symptom, kAbsent, Scope::any},
    {"timeout at nccl work", Told::symptom, kAbsent, Scope::any},
    {"waiting for remainder of ranks", Told::symptom,
     Meaning{"R35", "some ranks submit a tensor that others do not: Horovod waits for all",
             "the lines below it name tensors and missing ranks: the same layers and as many steps on every "
             "rank, or hvd.join()",
             Effect::ranks_wait},
     Scope::any},
    {"timed out waiting*for recv operation to complete", Told::symptom, kAbsent, Scope::any},
    {"timed out waiting*for send operation to complete", Told::symptom, kAbsent, Scope::any},
    {"dump signal due to a collective timeout from", Told::symptom, kAbsent, Scope::any},
    {"watchdog got stuck", Told::symptom,
     Meaning{"R35", "a rank's own watchdog stood still: a call of CUDA, or Python's lock, did not come back",
             "py-spy dump --native on that rank; TORCH_NCCL_HEARTBEAT_TIMEOUT_SEC only delays it",
             Effect::ranks_wait},
     Scope::any},
    {"failed to pass monitoredbarrier", Told::symptom,
     Meaning{"R35", "a rank did not come to a barrier that the others were in",
             "look at what that rank did instead: its stack (py-spy dump), its log, its input",
             Effect::ranks_wait},
     Scope::any},
    {"grad strides do not match bucket view", Told::aside,
     Meaning{"R28",
             "gradients lie otherwise in memory than DistributedDataParallel's buckets: each is copied "
             "element by element",
             "loss and layers without transposed parameters; .contiguous() in a module's own backward; of "
             "1x1 convolutions it costs nothing"},
     Scope::any},
    {"imbalance between your gpus", Told::remark, kUnequal, Scope::any},
    {"was asked to gather along dimension 0, but all", Told::remark, kDataParallel, Scope::any},
    {"in replica*on device ", Told::remark, kDataParallel, Scope::any},
    {"n_gpu: 2*distributed training: false", Told::remark, kDataParallel, Scope::any},
    {"n_gpu: 3*distributed training: false", Told::remark, kDataParallel, Scope::any},
    {"n_gpu: 4*distributed training: false", Told::remark, kDataParallel, Scope::any},
    {"n_gpu: 8*distributed training: false", Told::remark, kDataParallel, Scope::any},
    {"which is below the recommended minimum of 5.5.0", Told::hint, kOldKernel, Scope::any},
    {"did not find any unused parameters", Told::remark,
     Meaning{"R25", "DistributedDataParallel looks for unused parameters every step, and there are none",
             "find_unused_parameters=False"},
     Scope::any},
    {"to perform barrier as devices used by this process are currently unknown", Told::hint, kGuessed,
     Scope::any},
    {"as device used by this process is currently unknown", Told::hint, kGuessed, Scope::any},
};

}  // namespace gradwire
