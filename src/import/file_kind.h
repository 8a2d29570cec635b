// What a file is, told by what is in it: names and endings are never looked at. A pure function of the first
// bytes, unpacked.
#pragma once

#include <cstdint>
#include <string_view>

namespace gradwire {

enum class FileKind : std::uint8_t {
  profile,          // a trace of torch.profiler, by any of its writers
  timeline,         // a trace that Gradwire wrote
  perfetto,         // a protobuf trace: JSON is needed
  nccl_log,         // NCCL_DEBUG=INFO, alone or among other output; what a run died of; what the kernel says
  nccl_tests,       // the table that all_reduce_perf prints
  nccl_inspector,   // JSON lines of NCCL's inspector plugin
  topo_matrix,      // nvidia-smi topo -m, or a report that looks like it
  nccl_xml,         // NCCL_TOPO_DUMP_FILE
  peer_status,      // nvidia-smi topo -p2p r
  link_types,       // rocm-smi --showtopo, amd-smi topology
  nvlink_status,    // nvidia-smi nvlink -s
  smi_query,        // nvidia-smi -q
  smi_table,        // nvidia-smi
  lspci,            // lspci -vv
  environment,      // env, printenv, /proc/PID/environ
  flight_recorder,  // a dump of PyTorch's flight recorder: JSON or pickle
  nccl_records,     // NCCL's calls, by Gradwire's profiler plugin
  nvlink_traffic,   // NVML's counters of NVLink over a watched run
  watch_notes,      // what the hook of gradwire watch noted
  stack_dump,       // py-spy dump, faulthandler, gdb's backtraces
  script,           // a training script: Python or C++; one of a shell that starts a run
  empty,
  binary,
  unknown
};

FileKind kind_of(std::string_view head);
bool is_log_of_nccl(
    std::string_view text);  // anywhere in it: NCCL's lines, or what PyTorch prints when it dies of NCCL
std::string_view words_for(FileKind);  // "a trace of torch.profiler"

}  // namespace gradwire
