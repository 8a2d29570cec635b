// A built-in model on a mesh of ranks, as `gradwire train` trains it: split among tensor-parallel ranks, cut into pipeline
// stages by what its pieces cost here, averaged over data-parallel ones. All ranks make one with the same options and
// call it alike. Belongs to one thread.
#pragma once

#include <torch/torch.h>

#include <memory>
#include <string>
#include <vector>

#include "train/job/options.h"
#include "train/job/result.h"
#include "train/models/net.h"
#include "train/pipeline/pipeline.h"
#include "train/tensor/moves.h"

namespace gradwire {

struct MeshModelOptions {
  Mesh mesh;
  PipelineShape pipeline;
  bool sequence_parallel = false, recompute = false;
  std::string backend = "auto";
  torch::ScalarType type = torch::kFloat32;
  DdpOptions data = {};
};
MeshModelOptions mesh_model_options(const TrainOptions& options, const Mesh& mesh);

class MeshModel {
 public:
  // `whole` is the unsplit model, the same on every rank; what this rank doesn't hold of it is freed. `sample` is a
  // micro-batch's input, on which its pieces are timed.
  MeshModel(const World& world, std::shared_ptr<Net> whole, const torch::Tensor& sample,
            const MeshModelOptions& options);

  // Forward and backward of all micro-batches. The mean loss on ranks of the last stage, elsewhere 0.
  double step(const MicroBatches& batches) { return pipeline_->step(batches, end_.loss); }

  struct Answers {
    torch::Tensor classes;  // the likeliest, where this rank speaks for its model; else undefined
    double loss = 0;
  };
  Answers test(const torch::Tensor& input, const torch::Tensor& targets);

  // Scales gradients so that the norm of the whole model's is at most `max_norm`, and gives the norm before, the same on
  // every rank. `everybody` joins all ranks of the mesh.
  double clip_grad_norm(double max_norm, Communicator& everybody);

  // After a step: clips (0: not), lets the optimizer step and forgets the gradients.
  void use(std::unique_ptr<torch::optim::Optimizer> optimizer) { optimizer_ = std::move(optimizer); }
  void update(double clip, Communicator& everybody);
  void describe(TrainResult& result) const;  // sizes, buckets, bytes held, which pieces lie on which stage

  Pipeline& pipeline() { return *pipeline_; }
  const Pipeline& pipeline() const { return *pipeline_; }
  const MeshPlace& place() const { return groups_.place(); }
  void set_trace(Recorder* trace);

 private:
  std::string stages() const;

  MeshGroups groups_;
  TensorGroup tensor_;
  ModelEnd end_;
  std::int64_t parameters_ = 0;      // of the whole model, shared ones once
  std::vector<std::string> pieces_;  // their names
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<torch::optim::Optimizer> optimizer_;
};

}  // namespace gradwire
