// What needs a libtorch with CUDA: which stream is current, which GPU is which.
#include <ATen/cuda/CUDAContext.h>
#include <c10/cuda/CUDAStream.h>
#include <fmt/format.h>

#include "train/cuda_order.h"
#include "train/device_streams.h"
#include "train/placement_check.h"

namespace gradwire {
namespace {

constexpr Seconds kLastStepTakes = 300;

class CudaStreams final : public DeviceStreams {
 public:
  CudaStreams(Communicator& communicator, const CurrentStream& current, int device)
      : communicator_(communicator, current),
        order_(current),
        marks_(communicator, current, std::make_shared<CudaClock>(device)) {}
  Communicator& communicator() override { return communicator_; }
  void gradient_made(int bucket) override { order_.gradient_made(bucket); }
  void wait_for_gradients(int bucket) override { order_.wait_for_gradients(bucket); }
  void set_trace(Recorder* trace) override { marks_.set_trace(trace, kLastStepTakes); }

 private:
  StreamCommunicator communicator_;
  GradientOrder order_;
  StreamMarks marks_;
};

}  // namespace

std::unique_ptr<DeviceStreams> make_cuda_streams(torch::Device device, Communicator& communicator) {
  const auto index = device.index();
  return std::make_unique<CudaStreams>(
      communicator, [index] { return c10::cuda::getCurrentCUDAStream(index).stream(); }, index);
}

std::string gpu_address(int index) {
  const auto* const gpu = at::cuda::getDeviceProperties(static_cast<c10::DeviceIndex>(index));
  return fmt::format("{:04x}:{:02x}:{:02x}", gpu->pciDomainID, gpu->pciBusID, gpu->pciDeviceID);
}

}  // namespace gradwire
