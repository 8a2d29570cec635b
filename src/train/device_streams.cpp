#include "train/device_streams.h"

namespace gradwire {
namespace {

class HostStreams final : public DeviceStreams {
 public:
  explicit HostStreams(Communicator& communicator) : communicator_(communicator) {}
  Communicator& communicator() override { return communicator_; }
  void gradient_made(int) override {}
  void wait_for_gradients(int) override {}
  void set_trace(Recorder*) override {}

 private:
  Communicator& communicator_;
};

}  // namespace

std::unique_ptr<DeviceStreams> make_device_streams(torch::Device device, Communicator& communicator) {
  if (device.is_cuda()) return make_cuda_streams(device, communicator);
  return std::make_unique<HostStreams>(communicator);
}

}  // namespace gradwire
