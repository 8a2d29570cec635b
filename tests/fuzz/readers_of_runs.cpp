#include <cstring>

#include "base/nccl_records.h"
#include "fuzz/readers.h"
#include "import/environment.h"
#include "import/file_kind.h"
#include "import/flight_recorder.h"
#include "import/gzip_fixture.h"
#include "import/nccl_log.h"
#include "import/nccl_records.h"
#include "import/nvlink_traffic.h"
#include "import/profile.h"
#include "import/script.h"
#include "import/stack_dump.h"
#include "import/watch_notes.h"

namespace gradwire {
namespace {

using std::string_literals::operator""s;

const std::string kTrace =
    R"({"schemaVersion": 1, "distributedInfo": {"rank": 0, "world_size": 2}, "deviceProperties": [{"name": "x"}], "traceEvents": [
 {"ph": "X", "cat": "cpu_op", "name": "record_param_comms", "pid": 9, "tid": "9", "ts": 1000.250, "dur": 10.5, "args": {"External id": 5,
  "Collective name": "allreduce", "In msg nelems": 1000, "dtype": "Float", "Input Dims": [[2, [3]], []], "Input type": ["float", ""]}},
 {"ph": "X", "cat": "kernel", "name": "ncclDevKernel_AllReduce", "pid": 0, "tid": 20, "ts": 1010.125, "dur": 50, "args": {"stream": 20, "correlation": 77}}
 ], "baseTimeNanoseconds": 1700000000000000000})";

const std::string kLog =
    "NCCL version 2.7.8+cuda10.2\n"
    "n0:1:2 [0] NCCL INFO Channel 00/0 : 0[1a000] -> 1[1c000] [send] via NET/IB/0(1)/GDRDMA\n"
    "n0:1:2 [0] NCCL INFO NCCL_P2P_LEVEL set by environment to LOC\n"
    "n0:1:2 [0] NCCL INFO comm 0x1 rank 0 nranks 2 cudaDev 0 busId 1000\n"
    "n0:1:2 [0] NCCL INFO NET/IB : Using [0]mlx5_0:1/IB [RO]; OOB eth0\n"
    "n0:1:2 [0] NCCL INFO Pattern 4, type NVL/PIX, nNodes 1\n"
    "n0:1:2 [0] graph/search.cc:1127 NCCL WARN Could not find a path for pattern 4\n";

// pickle.dumps({"entries": [{"seq_id": 7, "state": "completed"}]}, 2)
const std::string kPickle =
    "\x80\x02}q\0X\x07\0\0\0entriesq\x01]q\x02}q\x03(X\x06\0\0\0seq_idq\x04K\x07X\x05\0\0\0stateq\x05X\x09\0\0\0completedq\x06uas."s;

const std::string kDump =
    R"({"version": "2.10", "entries": [{"collective_seq_id": 3, "process_group": ["0", "default_pg"], "profiling_name": "nccl:all_reduce",
        "state": "started", "input_sizes": [[1024]]}]})";

const std::string kNotesOfWatch =
    R"({"gradwire_watch": 1, "rank": 1, "world": 2, "backend": "gloo", "torch": "1.13.0", "kineto": false, "steps": 30,
        "profiled": {"first": 10, "count": 8}, "step_ms": {"before": 20.5, "profiled": 22, "after": null}, "own_us": 12.5,
        "costs": {"start_ms": 1, "write_ms": 40}, "processor": {"cores": 1, "threads": 1, "waited_ms": 7.5},
        "ddp": {"find_unused_parameters": 1, "bucket_cap_bytes": 26214400, "num_parameter_tensors": 6,
                "bucket_sizes": "1048576, 405544", "unused_parameter_size": 0}, "problems": ["one"]})";

const std::string kScript =
    "import torch  # find_unused_parameters=True\nif x:\n    a = '#' + b\n    c = d // 2\n";

const std::string kJob =
    "kind: Job\nspec:\n  containers:\n  - name: trainer\n    env:\n    - name: NCCL_P2P_DISABLE\n      "
    "value: "
    "\"1\"\n    - {name: NCCL_DEBUG, value: INFO}\n    args: |\n      torchrun train.py\n";

const std::string kService =
    "services:\n  train:\n    environment:\n      - NCCL_P2P_LEVEL=LOC # slow\n      - \"A=b\"\n";

// The calls of a communicator of two ranks: two all-reduces, and places that were never used.
std::string nccl_calls() {
  NcclRecordsHead head;
  std::memcpy(head.magic, kNcclRecordsMagic, sizeof head.magic);
  head.interface = 5, head.records = 4, head.record_bytes = kNcclRecordBytes;
  head.rank = 1, head.ranks = 2, head.communicator = 0xabc;
  std::string bytes((1 + head.records) * std::size_t{kNcclRecordBytes}, '\0');
  std::memcpy(bytes.data(), &head, sizeof head);
  for (std::uint64_t number = 1; number <= 2; ++number) {
    NcclRecord record;
    record.number = record.sequence = number;
    record.count = 1 << 20, record.begin_ns = 1'000'000, record.end_ns = 1'500'000;
    record.channels = 4, record.channels_begun = record.channels_ended = 4;
    std::strcpy(record.collective, "AllReduce");
    std::strcpy(record.datatype, "ncclFloat32");
    std::memcpy(bytes.data() + number * kNcclRecordBytes, &record, sizeof record);
  }
  return bytes;
}

std::string counters() {
  return nvlink_traffic_json({"", {{"A", "0000:01:00.0", 5000, 700}, {"B", "0000:02:00.0", 1, 2}}});
}

}  // namespace

std::vector<Reader> readers_of_runs() {
  return {{"kind", [](std::string_view text) { kind_of(text); }, {kTrace, kLog, kDump, kNotesOfWatch, kJob}},
          {"profile",
           [](std::string_view text) {
             ByteSource source(text);
             read_profile(source, "t.json");
           },
           {kTrace, gzipped(kTrace)}},
          {"nccl_log",
           [](std::string_view text) {
             ByteSource source(text);
             read_nccl_log(source, "l");
           },
           {kLog, gzipped(kLog)}},
          {"stack_dump",
           [](std::string_view text) { parse_stack_dump(text, "s"); },
           {"Process 7: x\nThread 7 (idle): \"MainThread\"\n    all_reduce "
            "(torch/distributed/distributed_c10d.py:9)\n",
            "Thread 0x7f (most recent call first):\n  File \"a.py\", line 3 in f\n",
            "Thread 2 (Thread 0x7 (LWP 4)):\n#0  0x1 in poll () from c.so\n#1  0x2 in PMPI_Gather (a=1) at "
            "m.c:8\n",
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\nKeyboardInterrupt\n"}},
          {"flight_dump", [](std::string_view text) { parse_flight_dump(text, "d"); }, {kDump, kPickle}},
          {"nccl_records", [](std::string_view text) { parse_nccl_records(text, "r"); }, {nccl_calls()}},
          {"watch_notes", [](std::string_view text) { parse_watch_notes(text, "n"); }, {kNotesOfWatch}},
          {"nvlink_traffic", [](std::string_view text) { parse_nvlink_traffic(text, "c"); }, {counters()}},
          {"environment",
           [](std::string_view text) { parse_environment(text, "e"); },
           {"NCCL_DEBUG=INFO\nA=b\n", "A=b\0C=d\0"s, kJob, kService}},
          {"script", [](std::string_view text) { parse_script(text, "s"); }, {kScript}}};
}

}  // namespace gradwire
