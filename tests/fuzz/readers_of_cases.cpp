// What was read, diagnosed: rules meet what readers let through.
#include "explain/case_file.h"
#include "fuzz/readers.h"

namespace gradwire {
namespace {

const std::string kSickLog =
    "NCCL version 2.21.5+cuda12.4\n"
    "n0:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n"
    "n0:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [1]mlx5_1:1/IB [RO]; OOB eth0:10.0.0.1<0>\n"
    "n0:1:2 [0] NCCL INFO ncclCommInitRank comm 0x1 rank 0 nranks 2 cudaDev 0 nvmlDev 0 busId 1000 - Init "
    "START\n"
    "n0:1:2 [0] NCCL INFO comm 0x1 rank 0 nRanks 2 nNodes 2 localRanks 1 localRank 0 MNNVL 0\n"
    "n0:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] via SHM/direct/direct\n"
    "n0:1:2 [0] NCCL INFO Channel 00/0 : 0[0] -> 1[1] [send] via NET/IB/0(1)/GDRDMA\n"
    "[rank0]:[E ProcessGroupNCCL.cpp:616] [Rank 0] Watchdog caught collective operation timeout: "
    "WorkNCCL(SeqNum=1, "
    "OpType=ALLREDUCE)\n";

const std::string kKernelLog =
    "[  812.104501] NVRM: Xid (PCI:0000:65:00): 79, pid=4021, name=python, GPU has fallen off the bus.\n"
    "[  812.104733] NVRM: Xid (PCI:0000:17:00): 74, pid='<unknown>', NVLink: fatal error detected on link 3\n"
    "[ 1300.000001] Out of memory: Killed process 4021 (python) total-vm:1kB, anon-rss:1kB\n";

const std::string kLaunchScript =
    "#!/bin/bash\n#SBATCH --ntasks-per-node=4 --gpus-per-task=1\nNCCL_P2P_DISABLE=1 srun python train.py\n"
    "import torch\nmodel = DDP(Net().cuda(0), find_unused_parameters=True)\nstate = torch.load(\n  path)\n"
    "for micro in range(4):\n    model(x).backward()\nwith model.no_sync():\n    loss.backward()\n";

const std::string kRunTrace =
    R"({"distributedInfo": {"rank": 0, "world_size": 2}, "deviceProperties": [{"name": "x"}, {"name": "y"}], "traceEvents": [
 {"ph": "X", "cat": "user_annotation", "name": "ProfilerStep#3", "pid": 9, "tid": 9, "ts": 1000, "dur": 100, "args": {}},
 {"ph": "X", "cat": "cuda_runtime", "name": "cudaLaunchKernel", "pid": 9, "tid": 9, "ts": 1001, "dur": 2, "args": {"correlation": 7}},
 {"ph": "X", "cat": "kernel", "name": "gemm", "pid": 0, "tid": 7, "ts": 1005, "dur": 40, "args": {"stream": 7, "device": 0, "correlation": 7}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": 1040, "dur": 50, "args": {"stream": 20,
  "device": 0, "correlation": 8, "Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Group size": 2,
  "Process Group Ranks": "[0, 1]"}}]})";

}  // namespace

std::vector<Reader> readers_of_cases() {
  return {{"log_case",
           [](std::string_view text) {
             ByteSource source(text);
             CaseFile given;
             given.files.logs.push_back(read_nccl_log(source, "l"));
             diagnose(given);
           },
           {kSickLog, kKernelLog}},
          {"script_case",
           [](std::string_view text) {
             CaseFile given;
             given.files.scripts.push_back(parse_script(text, "s"));
             diagnose(given);
           },
           {kLaunchScript}},
          {"trace_case",
           [](std::string_view text) {
             ByteSource source(text);
             Gathered files;
             files.profiles.push_back(read_profile(source, "t.json"));
             diagnose(make_case(std::move(files), ""));
           },
           {kRunTrace}}};
}

}  // namespace gradwire
