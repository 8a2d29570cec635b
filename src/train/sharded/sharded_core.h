// What ShardedDataParallel does whatever the model's type. See sharded.h for what users are promised. Belongs to the
// thread that trains.
#pragma once

#include <memory>
#include <vector>

#include "train/device_streams.h"
#include "train/model_state.h"
#include "train/sharded/shard_reducer.h"
#include "train/sharded/sharded.h"
#include "train/sharded/sharded_units.h"

namespace gradwire {

class ShardedCore {
 public:
  ShardedCore(ModelTensors model, Communicator& communicator, const ShardOptions& options);

  void before_forward(const std::vector<torch::Tensor>& inputs);
  void after_forward();

  const ModelTensors& model() const { return model_; }
  const ShardOptions& options() const { return options_; }
  ShardedUnits& units() const { return *units_; }
  ShardReducer& reducer() const { return *reducer_; }
  Communicator& communicator() const { return streams_->communicator(); }
  void set_trace(Recorder* trace);

 private:
  const ModelTensors model_;
  const ShardOptions options_;
  const std::unique_ptr<DeviceStreams> streams_;
  std::shared_ptr<ShardedUnits> units_;
  std::unique_ptr<ShardReducer> reducer_;
  std::unique_ptr<TensorBroadcast> buffers_;
  Recorder* trace_ = nullptr;
};

}  // namespace gradwire
