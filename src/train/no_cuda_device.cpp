// Stands in for cuda_device.cpp where libtorch has no CUDA.
#include "base/error.h"
#include "train/device_streams.h"
#include "train/placement_check.h"

namespace gradwire {

std::unique_ptr<DeviceStreams> make_cuda_streams(torch::Device device, Communicator&) {
  throw ConfigError(
      fmt::format("{} was asked for, and this libtorch has no CUDA: take a libtorch built with it, or "
                  "{{.device = torch::kCPU}}",
                  device.str()));
}

std::string gpu_address(int) { return {}; }

}  // namespace gradwire
