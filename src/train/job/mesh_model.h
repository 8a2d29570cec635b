// A built-in model on a mesh of ranks, as `gradwire train` trains it: split among tensor-parallel ranks, cut into pipeline
// stages by what its pieces cost here, averaged over data-parallel ones or shared among them. All ranks make one with the
// same options and call it alike. Belongs to one thread.
#pragma once

#include <torch/torch.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "train/job/learning.h"
#include "train/job/options.h"
#include "train/job/trained_model.h"
#include "train/models/net.h"
#include "train/pipeline/pipeline.h"
#include "train/sharded/shard_checkpoint.h"
#include "train/tensor/moves.h"

namespace gradwire {

struct MeshModelOptions {
  Mesh mesh;
  PipelineShape pipeline;
  bool sequence_parallel = false, recompute = false;
  MeshWires wires = mesh_wires("auto");
  torch::ScalarType type = torch::kFloat32;  // of what is learnt
  ReplicaOptions replicas = {};              // on the device of the wires
};
MeshModelOptions mesh_model_options(const TrainOptions& options, const Mesh& mesh,
                                    torch::Device device = torch::kCPU);

class MeshModel final : public TrainedModel {
 public:
  // `whole` is the unsplit model, the same on every rank; what this rank doesn't hold of it is freed. `sample` is a
  // micro-batch's input, on which its pieces are timed.
  MeshModel(const World& world, std::shared_ptr<Net> whole, const torch::Tensor& sample,
            const MeshModelOptions& options);
  void learn_by(const TrainOptions& options);  // makes the optimizer; before update(), state() and load()

  double learn(const StepData& data) override;
  double step(const MicroBatches& batches);  // the same of batches that are there
  void update(double clip) override;
  Answers test(const Batch& batch) override;
  void describe(TrainResult& result) const override;  // also which pieces lie on which stage
  void set_trace(Recorder* trace) override;

  // Every rank writes a part of a checkpoint, which is of the whole model and goes on with any mesh or none.
  TrainingState state() override;
  LossScale* loss_scale() override { return learner_ ? learner_->loss_scale() : nullptr; }
  std::vector<std::string> gradient_order() const override { return pipeline_->gradient_order(); }
  TrainingPosition load(const std::filesystem::path& path, Communicator& host, Unchecked unchecked) override;

  // Scales gradients so that the norm of the whole model's is at most `max_norm`, and gives the norm before, the same on
  // every rank.
  double clip_grad_norm(double max_norm);

  Pipeline& pipeline() { return *pipeline_; }
  const Pipeline& pipeline() const { return *pipeline_; }
  const MeshPlace& place() const { return groups_.place(); }

 private:
  bool is_elsewhere(const ParameterPiece& piece) const;  // another rank speaks for it
  double own_squares() const;
  HeldPieces written() const;
  LoadedHook kept() const;  // by the hook of the gradients
  std::string stages() const;

  MeshGroups groups_;
  const std::unique_ptr<Communicator> everybody_;  // tells numbers
  std::unique_ptr<Communicator> learners_;         // the same of GPUs, which tell tensors
  TensorGroup tensor_;
  const bool shared_;  // along the data dimension
  ModelEnd end_;
  std::int64_t parameters_ = 0;              // of the whole model, shared ones once
  const std::shared_ptr<KeepingHook> hook_;  // null where it keeps nothing
  std::map<std::string, int> numbers_;       // of parameters that are learnt, in the whole model
  std::vector<std::string> pieces_;          // their names
  std::unique_ptr<Pipeline> pipeline_;
  std::unique_ptr<Learner> learner_;
};

}  // namespace gradwire
