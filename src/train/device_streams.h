// In which order a device sees the work of autograd and that of the communicator, without the host waiting.
// On CPUs there is nothing to order.
#pragma once

#include <memory>

#include <torch/torch.h>

#include "comm/communicator.h"
#include "trace/recorder.h"

namespace gradwire {

class DeviceStreams {
 public:
  virtual ~DeviceStreams() = default;
  // A communicator whose calls begin when the calling thread's current stream has come to them, and whose
  // Work::wait() makes that stream wait. On CPUs: the communicator itself.
  virtual Communicator& communicator() = 0;
  // The calling thread's stream has just been given the work that makes a gradient of this bucket.
  virtual void gradient_made(int bucket) = 0;
  // What the calling thread starts next comes after all gradients of this bucket.
  virtual void wait_for_gradients(int bucket) = 0;
  // What this recorder is told from now on are times of the device; null: what the former was told is taken down, once
  // the device has come there. On CPUs the host's times are the device's.
  virtual void set_trace(Recorder* trace) = 0;
};

// The communicator is borrowed. Throws ConfigError when Gradwire or its libtorch was built without CUDA and
// the device is one.
std::unique_ptr<DeviceStreams> make_device_streams(torch::Device device, Communicator& communicator);

// The communicator, owned, as DeviceStreams::communicator() has it: on CPUs the one that was given.
std::unique_ptr<Communicator> in_stream_order(std::unique_ptr<Communicator> communicator,
                                              torch::Device device);

// For make_device_streams(): in cuda_device.cpp or no_cuda_device.cpp.
std::unique_ptr<DeviceStreams> make_cuda_streams(torch::Device device, Communicator& communicator);

}  // namespace gradwire
