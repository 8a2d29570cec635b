// What DistributedDataParallel does around forward and backward, whatever the model's type. See ddp.h for
// what users are promised. Belongs to the thread that trains.
#pragma once

#include <memory>
#include <vector>

#include "train/ddp.h"
#include "train/device_streams.h"
#include "train/model_state.h"
#include "train/reducer.h"

namespace gradwire {

class DdpCore {
 public:
  DdpCore(ModelTensors model, Communicator& communicator, const DdpOptions& options);

  void before_forward(const std::vector<torch::Tensor>& inputs);
  void after_forward(const std::vector<torch::Tensor>& outputs);

  void push_no_sync() { ++no_sync_; }
  void pop_no_sync() { --no_sync_; }

  void begin_join(const JoinRule& options);
  void finish_join();
  void end_join();

  const ModelTensors& model() const { return model_; }
  Reducer& reducer() { return *reducer_; }
  const Reducer& reducer() const { return *reducer_; }
  Communicator& communicator() { return streams_->communicator(); }
  torch::Device device() const { return options_.device; }
  void set_trace(Recorder* trace);

 private:
  void check_inputs(const std::vector<torch::Tensor>& inputs) const;
  void check_unchanged() const;
  void sync_buffers(Rank root);
  std::vector<Rank> active_ranks(bool active);  // those with input; all ranks call it

  const ModelTensors model_;
  const DdpOptions options_;
  const std::unique_ptr<DeviceStreams> streams_;
  std::shared_ptr<Reducer> reducer_;  // null while it is made
  std::unique_ptr<TensorBroadcast> buffers_;
  Recorder* trace_ = nullptr;

  int no_sync_ = 0;
  bool joining_ = false;
  JoinRule join_options_;
  Rank source_ = 0;  // the first rank that still has input
};

}  // namespace gradwire
