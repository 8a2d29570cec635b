// Traces in the shapes of torch.profiler's writers, built event by event for tests. Times are microseconds.
#pragma once

#include <fmt/format.h>

#include <string>

#include "import/profile.h"

namespace gradwire {

class SampleTrace {
 public:
  SampleTrace& distributed(int rank, int world) {
    head_ += fmt::format(R"("distributedInfo": {{"backend": "nccl", "rank": {}, "world_size": {}}},)", rank,
                         world);
    return *this;
  }
  SampleTrace& gpus(int count, const char* name = "NVIDIA A100-SXM4-80GB") {
    head_ += R"("deviceProperties": [)";
    for (int i = 0; i < count; ++i)
      head_ += fmt::format(R"({}{{"id": {}, "name": "{}"}})", i > 0 ? "," : "", i, name);
    head_ += "],";
    return *this;
  }
  SampleTrace& host_name(const char* name) {
    head_ += fmt::format(R"("host_name": "{}",)", name);
    return *this;
  }
  SampleTrace& host(const char* category, const std::string& name, double begin, double duration,
                    int thread = 1, const std::string& arguments = "") {
    return event(fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 100, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, "args": {{{}}}}})",
        category, name, thread, begin, duration, arguments));
  }
  SampleTrace& step(int number, double begin, double duration) {
    return host("user_annotation", fmt::format("ProfilerStep#{}", number), begin, duration);
  }
  // Something on the GPU with its launch `before` microseconds earlier.
  SampleTrace& gpu(const char* category, const std::string& name, double begin, double duration,
                   int stream = 7, const std::string& arguments = "", double before = 5, int thread = 1) {
    ++correlation_;
    host("cuda_runtime", "cudaLaunchKernel", begin - before, 2, thread,
         fmt::format(R"("correlation": {})", correlation_));
    return event(fmt::format(
        R"({{"ph": "X", "cat": "{}", "name": "{}", "pid": 0, "tid": {}, "ts": {:.3f}, "dur": {:.3f}, )"
        R"("args": {{"device": 0, "stream": {}, "correlation": {}{}{}}}}})",
        category, name, stream, begin, duration, stream, correlation_, arguments.empty() ? "" : ", ",
        arguments));
  }
  SampleTrace& kernel(double begin, double duration) {
    return gpu("kernel", "void gemm<float>(int)", begin, duration);
  }
  SampleTrace& all_reduce(double begin, double duration, long elements = 1 << 20, int ranks = 2) {
    return gpu(
        "kernel", "ncclDevKernel_AllReduce_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)", begin,
        duration, 20,
        fmt::format(
            R"("Collective name": "allreduce", "In msg nelems": {}, "Out msg nelems": {}, "Group size": {}, )"
            R"("dtype": "Float", "Process Group Name": "0")",
            elements, elements, ranks));
  }
  SampleTrace& event(const std::string& json) {
    events_ += (events_.empty() ? "" : ",\n") + json;
    return *this;
  }

  std::string json() const {
    return fmt::format(R"({{"schemaVersion": 1, {} "traceEvents": [{}], "traceName": "t"}})", head_, events_);
  }
  std::string array() const { return "[" + events_ + "]"; }
  Profile profile(const std::string& name = "sample.json") const {
    const std::string text = json();
    ByteSource source{std::string_view(text)};
    return read_profile(source, name);
  }

 private:
  std::string head_, events_;
  int correlation_ = 1000;
};

// Forward 1000-3000, backward 3000-7000 on another thread with an all-reduce from 6000 to 9000, optimizer
// 9000-9500, then nothing until 10000; the DataLoader holds the loop up in the first 1000.
inline SampleTrace one_step(int rank = 0, double shift = 0, double late = 0) {
  SampleTrace trace;
  trace.distributed(rank, 2).gpus(8).step(3, shift, 10000);
  trace.host("user_annotation", "enumerate(DataLoader)#_MultiProcessingDataLoaderIter.__next__", shift, 1000);
  trace.gpu("kernel", "forward", shift + 1000, 2000 + late);
  trace.host("cpu_op", "autograd::engine::evaluate_function: MmBackward0", shift + 2980 + late, 50, 2);
  trace.gpu("kernel", "backward", shift + 3000 + late, 4000 - late, 7, "", 5, 2);
  trace.all_reduce(shift + 6000 + late, 3000 - late);
  trace.host("user_annotation", "Optimizer.step#SGD.step", shift + 8980, 40);
  trace.gpu("kernel", "optimizer", shift + 9000, 500);
  return trace;
}

}  // namespace gradwire
