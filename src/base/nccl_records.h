// The file in which NCCL's profiler plugin (watch/nccl_profiler) keeps the last calls of one communicator, and which
// `gradwire analyze` reads. It is written as mapped memory while the program runs, so it needs no dumping and says
// what it knows whatever becomes of the process. A layout between like machines; nothing but plain data.
#pragma once

#include <cstddef>
#include <cstdint>

namespace gradwire {

inline constexpr char kNcclRecordsMagic[8] = {'G', 'W', 'N', 'C', 'C', 'L', 'R', '1'};
inline constexpr std::uint32_t kNcclRecordsKept = 8192;
inline constexpr std::size_t kNcclRecordBytes = 256;  // of the head too

struct NcclRecordsHead {
  char magic[8] = {};
  std::uint32_t interface = 0;  // which of NCCL's profiler interfaces it came by: 1 to 6
  std::uint32_t records = 0, record_bytes = 0;
  std::int32_t rank = -1;                // in the communicator; -1: nothing has said it yet
  std::int32_t ranks = 0, nodes = 0;     // 0: this interface does not say
  std::uint64_t communicator = 0;        // equal on all its ranks
  std::uint64_t begun = 0, dropped = 0;  // calls; record n is in place n % records
  std::uint32_t process = 0, unused = 0;
  char host[64] = {};
  char name[64] = {};  // that the program gave the communicator
};
static_assert(sizeof(NcclRecordsHead) <= kNcclRecordBytes);

// Times of the GPU are of its global timer where the interface hands it on (4 and later), else of the host's steady
// clock as NCCL's own thread saw them. Both are nanoseconds; only differences within one record mean anything.
struct NcclRecord {
  std::uint64_t number = 0;  // of the call in this file, from 1; 0: unused
  std::uint64_t sequence =
      0;  // of the call in its communicator, by NCCL's count; of no meaning for send and recv
  std::uint64_t count = 0;                                // elements
  std::int64_t enqueue_begin_ns = 0, enqueue_end_ns = 0;  // CLOCK_MONOTONIC; end 0: not yet
  std::uint64_t begin_ns = 0, end_ns = 0;  // first channel's begin, last one's end; 0: not known
  std::uint32_t channels_begun = 0, channels_ended = 0;
  std::int32_t peer = -1;      // of send and recv
  std::uint8_t channels = 0;   // as planned
  std::uint8_t gpu_clock = 0;  // 1: begin and end are of the GPU's timer
  std::uint8_t unused[2] = {};
  char collective[24] = {};  // as NCCL calls it: "AllReduce", "Send"
  char datatype[24] = {};    // "ncclFloat32"
  char algorithm[16] = {}, protocol[16] = {};
};
static_assert(sizeof(NcclRecord) <= kNcclRecordBytes);

}  // namespace gradwire
