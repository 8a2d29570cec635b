// Trains a model on a mesh: its pieces are cut into chunks, one or several a pipeline stage; a step's micro-batches flow
// through the stages as a schedule says; every chunk is averaged over the mesh's data dimension by
// DistributedDataParallel, or shared along it by ShardedDataParallel (data_chunk.h). (Tensor parallelism is in the
// pieces: see train/tensor/group.h.)
//
//   MeshGroups groups(world, {.dp = 2, .pp = 2});
//   Pipeline pipeline(groups, pieces_of(model), {.micro_batches = 4});
//   torch::optim::SGD optimizer(pipeline.parameters(), 0.1);
//   for (...) {
//     pipeline.zero_grad();
//     double loss = pipeline.step({.inputs = inputs, .targets = targets}, loss_function);
//     optimizer.step();
//   }
//
// A step is a graph (sched/step_graph.h), and this walks its rank's tasks: what a task needs is received, and what it
// gave is sent, while others compute. After step() gradients are those of the mean loss over all micro-batches and all
// data-parallel ranks, as one process would have them. A module shared by pieces on different stages is kept on each,
// and its gradients are added up at the end of a step.
//
// All ranks make one with the same pieces and options, and call step() alike. The groups are borrowed. Belongs to one
// thread.
#pragma once

#include <torch/torch.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "sched/step_graph.h"
#include "trace/recorder.h"
#include "train/pipeline/data_chunk.h"
#include "train/pipeline/mesh_groups.h"
#include "train/pipeline/piece.h"
#include "train/pipeline/step_walk.h"

namespace gradwire {

struct PipelineOptions {
  PipelineSchedule schedule = PipelineSchedule::one_f_one_b;
  int micro_batches = 1;
  int virtual_stages = 1;           // chunks a stage, with the interleaved schedule
  bool recompute = false;           // each piece runs again in backward
  std::vector<Seconds> costs = {};  // of each piece, the same on every rank; empty: all alike
  ReplicaOptions replicas = {};     // how the ranks of the data dimension hold each chunk
};

class TensorBroadcast;

class Pipeline {
 public:
  // Throws ConfigError for more chunks than pieces and for what check_pipeline() refuses.
  Pipeline(MeshGroups& groups, std::vector<Piece> pieces, const PipelineOptions& options);
  ~Pipeline();

  // The mean loss of this rank's micro-batches where it has the last stage, elsewhere 0.
  double step(const MicroBatches& batches, const MicroBatchLoss& loss);

  // A forward without gradients through all stages: the output on ranks of the last stage, elsewhere undefined.
  torch::Tensor evaluate(const torch::Tensor& input);

  bool is_first() const { return groups_.place().pipeline == 0; }
  bool is_last() const { return groups_.place().pipeline + 1 == groups_.mesh().pp; }
  // This rank's, by the model's names, in its order. The first are the model's own tensors, which in stage 3 of sharding
  // all ranks of the data dimension have to use together.
  std::vector<NamedTensor> named_parameters() const;
  std::vector<NamedTensor> named_buffers() const;
  // What an optimizer is made with: the model's parameters, their float32 copies, or this rank's shares of them; and what
  // they are of the model's tensors.
  std::vector<torch::Tensor> parameters() const;
  std::vector<ParameterPiece> pieces() const;
  // Of a model in one chunk, as DistributedDataParallel's. Of several, which the next run may cut elsewhere, there is none.
  std::vector<std::string> gradient_order() const;
  void restore_gradient_order(const std::vector<std::string>& order);
  void parameters_changed();  // by something else than an optimizer after a step

  bool is_repeated(const std::string& parameter) const;  // an earlier stage has it too
  const std::vector<std::shared_ptr<Chunk>>& chunks() const { return chunks_; }
  const std::vector<int>& cut() const { return cut_; }  // the first piece of each chunk, and the end
  ChunkMemory memory() const;
  void zero_grad();
  void train(bool on = true);
  void set_trace(Recorder* trace);

  const StepGraph& graph() const { return graph_; }
  const std::vector<StageWork>& executed() const { return executed_; }  // in the last step, by this rank

 private:
  void share_modules(const std::vector<Piece>& pieces);
  void share_module(const std::string& name, torch::nn::Module& module, const std::vector<int>& stages);
  StepGraph make_graph() const;
  void make_channels();
  void agree_on_shapes(const torch::Tensor& input);
  void sync_buffers();
  void add_shared_gradients();
  torch::Tensor run_chunk(const ChunkForward& call);
  DataChunk& held(int chunk) const { return *held_[static_cast<std::size_t>(local(chunk))]; }
  int channel_of(TaskKind kind, int chunk) const;
  bool is_mine(int chunk) const { return chunk % groups_.mesh().pp == groups_.place().pipeline; }
  int local(int chunk) const { return chunk / groups_.mesh().pp; }
  Rank me() const { return rank_at(groups_.mesh(), groups_.place()); }

  // A module that other stages have too.
  struct SharedModule {
    std::string name;
    std::unique_ptr<Communicator> communicator;
    bool has(const std::string& parameter) const { return parameter.starts_with(name + "."); }
  };

  MeshGroups& groups_;
  const PipelineOptions options_;
  const PipelineShape pipeline_;
  const std::vector<int> cut_;
  std::vector<std::shared_ptr<Chunk>> chunks_;
  std::vector<std::unique_ptr<DataChunk>> held_;  // the same
  std::unique_ptr<TensorBroadcast> buffers_;      // running means, say: the first replica's go to all
  std::vector<SharedModule> shared_;
  std::vector<TensorShape> shapes_;  // of each chunk's output; unknown before the first step
  StepGraph graph_;
  std::map<int, std::unique_ptr<Communicator>> channels_;  // by group of the graph
  std::vector<StageWork> executed_;
  SpanNames names_;
  Recorder* trace_ = nullptr;
};

}  // namespace gradwire
