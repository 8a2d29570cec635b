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

class InStreamOrder final : public Communicator {
 public:
  InStreamOrder(std::unique_ptr<Communicator> communicator, torch::Device device)
      : communicator_(std::move(communicator)), streams_(make_device_streams(device, *communicator_)) {}
  Rank rank() const override { return communicator_->rank(); }
  int size() const override { return communicator_->size(); }
  std::string name() const override { return communicator_->name(); }
  Carrier carrier() const override { return communicator_->carrier(); }
  std::unique_ptr<Work> start(const Call& call) override { return streams_->communicator().start(call); }
  void run(const Call& call) override { streams_->communicator().run(call); }
  Memory allocate(std::size_t bytes) override { return streams_->communicator().allocate(bytes); }
  void abort() override { communicator_->abort(); }

 private:
  const std::unique_ptr<Communicator> communicator_;
  const std::unique_ptr<DeviceStreams> streams_;
};

}  // namespace

std::unique_ptr<Communicator> in_stream_order(std::unique_ptr<Communicator> communicator,
                                              torch::Device device) {
  if (!device.is_cuda()) return communicator;
  return std::make_unique<InStreamOrder>(std::move(communicator), device);
}

std::unique_ptr<DeviceStreams> make_device_streams(torch::Device device, Communicator& communicator) {
  if (device.is_cuda()) return make_cuda_streams(device, communicator);
  return std::make_unique<HostStreams>(communicator);
}

}  // namespace gradwire
