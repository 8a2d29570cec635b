// The calls of one communicator, as NCCL's threads report them, in a mapped file (base/nccl_records.h). It lives in other
// people's processes: no exception, no allocation after it is made, no lock, nothing of the C++ library is needed. Any
// thread may call; handles are addresses inside the mapping, so what comes late, after NCCL has given the communicator
// up, still finds memory: a mapping is never taken away.
#pragma once

#include <cstdint>

#include "base/nccl_records.h"

namespace gradwire::nccl_profiler {

struct ReportedGroup {
  std::uint32_t interface = 0;
  std::int32_t rank = -1, ranks = 0, nodes = 0;
  std::uint64_t id = 0;
  const char* name = nullptr;
};

struct ReportedCall {
  std::uint64_t sequence = 0, count = 0;
  std::int32_t rank = -1, peer = -1;
  std::uint8_t channels = 0;
  std::uint64_t communicator = 0;  // 0: said by init already
  const char *collective = nullptr, *datatype = nullptr, *algorithm = nullptr, *protocol = nullptr;
};

class CallLog {
 public:
  // In `folder`, as nccl_calls_PROCESS_N.bin. Null when it can't be made, or when the process has very many already.
  static CallLog* open(const char* folder, const ReportedGroup&);

  // A handle for the call; null when the place it needs is still in use, which is counted.
  void* begin_call(const ReportedCall&);
  // A handle for a channel of a call's kernel; null without a call. `gpu_time` 0: the host's clock is taken.
  static void* begin_channel(void* call, std::uint8_t channel, std::uint64_t gpu_time);
  // Of a channel: the time of its end by the GPU.
  static void set_channel_end(void* handle, std::uint64_t gpu_time);
  static void end(void* handle);  // of a call: it has been given to the GPU; of a channel: it is done

 private:
  NcclRecordsHead head_;
};

}  // namespace gradwire::nccl_profiler
