#include "train/job/mesh_model.h"

#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "train/job/mesh_options.h"

namespace gradwire {
namespace {

std::int64_t count_parameters(const torch::nn::Module& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

// As DistributedDataParallel counts those of the whole model.
std::map<std::string, int> numbers_of_learnt(torch::nn::Module& model) {
  std::map<std::string, int> numbers;
  for (const auto& [name, tensor] : tensors_of_model(model).parameters)
    if (tensor.requires_grad()) numbers.emplace(name, static_cast<int>(numbers.size()));
  return numbers;
}

std::vector<Rank> all_ranks(const Mesh& mesh) {
  std::vector<Rank> ranks(static_cast<std::size_t>(mesh.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// Pieces computing in another type while it lives; then they are what they were, to the bit.
class InType {
 public:
  InType(const std::vector<Piece>& pieces, torch::ScalarType type) {
    for (const Piece& piece : pieces)
      for (const auto& [name, module] : piece.modules) {
        for (const auto& parameter : module->parameters()) keep(parameter);
        for (const auto& buffer : module->buffers()) keep(buffer);
        module->to(type);
      }
  }
  ~InType() {
    for (auto kept = kept_.rbegin(); kept != kept_.rend(); ++kept) kept->first.set_data(kept->second);
  }
  InType(const InType&) = delete;
  InType& operator=(const InType&) = delete;

 private:
  void keep(const torch::Tensor& tensor) { kept_.emplace_back(tensor, tensor.detach()); }

  std::vector<std::pair<torch::Tensor, torch::Tensor>>
      kept_;  // a shared module's twice: the first is what it was
};

// What pieces are timed in, before any rank has put its own on a device.
torch::ScalarType computes_on_host(const MeshModelOptions& options) {
  ReplicaOptions replicas = options.replicas;
  replicas.ddp.device = torch::kCPU;
  return computes_in(replicas, options.type);
}

// Every rank times the pieces, all at once as in a step; rank 0's times count, because all must cut alike.
std::vector<Seconds> agreed_costs(const std::vector<Piece>& pieces, const torch::Tensor& sample,
                                  torch::ScalarType type, Communicator& everybody) {
  const InType in_type(pieces, type);
  auto costs = measure_pieces(pieces, sample.is_floating_point() ? sample.to(type) : sample);
  everybody.run(broadcast(bytes_of(costs), DType::f64, 0));
  return costs;
}

}  // namespace

MeshModelOptions mesh_model_options(const TrainOptions& options, const Mesh& mesh, torch::Device device) {
  return {.mesh = mesh,
          .pipeline = pipeline_of(options),
          .sequence_parallel = options.sequence_parallel,
          .recompute = options.recompute,
          .wires = mesh_wires(options.backend.name, device),
          .type = learnt_type(options),
          .replicas = replica_options(options, device)};
}

MeshModel::MeshModel(const World& world, std::shared_ptr<Net> whole, const torch::Tensor& sample,
                     const MeshModelOptions& options)
    : groups_(world, options.mesh, options.wires),
      everybody_(groups_.numbers_among(all_ranks(options.mesh), "mesh")),
      tensor_(groups_.tensor(), {.sequence_parallel = options.sequence_parallel}),
      shared_(options.replicas.shard > 0),
      parameters_(count_parameters(*whole)),
      hook_(std::dynamic_pointer_cast<KeepingHook>(options.replicas.ddp.hook)),
      numbers_(numbers_of_learnt(*whole)) {
  whole->to(options.type);
  if (options.mesh.tp > 1) whole->split(tensor_);
  end_ = whole->end();
  auto pieces = whole->pieces();
  whole.reset();
  for (const Piece& piece : pieces) pieces_.push_back(piece.name);
  PipelineOptions made{.schedule = options.pipeline.schedule,
                       .micro_batches = options.pipeline.micro_batches,
                       .virtual_stages = options.pipeline.virtual_stages,
                       .recompute = options.recompute,
                       .replicas = options.replicas};
  if (options.mesh.pp > 1)
    made.costs = agreed_costs(pieces, sample.to(torch::kCPU), computes_on_host(options), *everybody_);
  pipeline_ = std::make_unique<Pipeline>(groups_, std::move(pieces), made);
}

void MeshModel::learn_by(const TrainOptions& options) {
  if (groups_.device().is_cuda()) learners_ = groups_.among(all_ranks(groups_.mesh()), "learners");
  learner_ =
      std::make_unique<Learner>(options, pipeline_->parameters(), learners_ ? *learners_ : *everybody_);
}

// Ranks that hold a model together read the same batches.
double MeshModel::learn(const StepData& data) {
  MicroBatches batches;
  batches.seed = data.seed;
  for (int micro = 0; micro < data.micro_batches; ++micro) {
    auto batch = data.next(micro);
    batches.inputs.push_back(std::move(batch.input));
    batches.targets.push_back(std::move(batch.target));
  }
  return step(batches);
}

double MeshModel::step(const MicroBatches& batches) {
  if (!learner_ || learner_->scale() == 1) return pipeline_->step(batches, end_.loss);
  const auto scaled = [this](const torch::Tensor& output, const torch::Tensor& target) {
    return learner_->scaled(end_.loss(output, target));
  };
  return pipeline_->step(batches, scaled) / learner_->scale();
}

Answers MeshModel::test(const Batch& batch) {
  const torch::NoGradGuard no_grad;
  pipeline_->train(false);
  const auto output = pipeline_->evaluate(batch.input);
  pipeline_->train(true);
  if (!pipeline_->is_last()) return {};
  Answers answers{end_.answers(output), end_.loss(output, batch.target).item<double>()};
  if (place().tensor > 0) answers.classes = torch::Tensor();
  return answers;
}

// What tensor-parallel ranks all have counts on the first of them, what several stages have on the earliest.
bool MeshModel::is_elsewhere(const ParameterPiece& piece) const {
  return (piece.part.cut.whole() && place().tensor > 0) || pipeline_->is_repeated(piece.name);
}

double MeshModel::own_squares() const {
  const auto parameters = pipeline_->parameters();
  double sum = 0;
  for (const auto& piece : pipeline_->pieces()) {
    const auto gradient = is_elsewhere(piece) ? torch::Tensor() : gradient_of(piece, parameters);
    if (gradient.defined()) sum += gradient.to(torch::kFloat64).square().sum().item<double>();
  }
  return sum;
}

double MeshModel::clip_grad_norm(double max_norm) {
  const torch::NoGradGuard no_grad;
  std::array<double, 1> squares{own_squares()};
  everybody_->run(all_reduce(bytes_of(squares), DType::f64));
  const double norm = std::sqrt(squares[0] / (shared_ ? 1 : groups_.mesh().dp));
  // The 1e-6 is torch::nn::utils::clip_grad_norm_'s own.
  if (const double factor = max_norm / (norm + 1e-6); factor < 1)
    for (auto& parameter : pipeline_->parameters())
      if (parameter.grad().defined()) parameter.grad().mul_(factor);
  return norm;
}

void MeshModel::update(double clip) {
  learner_->step([&] {
    if (clip > 0) clip_grad_norm(clip);
  });
  pipeline_->zero_grad();
}

// Each element once over all ranks. Replicas, which have the same, take turns.
HeldPieces MeshModel::written() const {
  HeldPieces mine{.parameters = pipeline_->parameters()};
  int number = 0;
  for (auto& piece : pipeline_->pieces()) {
    const bool my_turn = shared_ || number++ % groups_.mesh().dp == place().data;
    if (my_turn && !is_elsewhere(piece)) mine.pieces.push_back(std::move(piece));
  }
  return mine;
}

// What several stages have of a parameter differs: each has made a part of its gradient.
LoadedHook MeshModel::kept() const {
  LoadedHook kept{.hook = hook_.get()};
  kept.place = {
      .rank = place().data, .ranks = groups_.mesh().dp, .part = place().tensor, .parts = groups_.mesh().tp};
  for (const auto& [name, tensor] : pipeline_->named_parameters())
    if (tensor.requires_grad())
      kept.place.parameters.push_back(
          fmt::format("{}{}", numbers_.at(name), pipeline_->is_repeated(name) ? " again" : ""));
  return kept;
}

TrainingState MeshModel::state() {
  auto state = state_of_pieces(written(), &learner_->optimizer());
  if (hook_) {
    state.hook = hook_.get();
    state.hook_place = kept().place;
  }
  if (place().data == 0 && place().tensor == 0)
    for (auto& buffer : pipeline_->named_buffers()) state.pieces.push_back(std::move(buffer));
  return state;
}

TrainingPosition MeshModel::load(const std::filesystem::path& path, Communicator& host, Unchecked unchecked) {
  pipeline_->parameters_changed();  // nobody uses them while others write
  const auto position = load_checkpoint(path,
                                        {.pieces = pipeline_->pieces(),
                                         .parameters = pipeline_->parameters(),
                                         .buffers = pipeline_->named_buffers(),
                                         .hook = hook_ ? kept() : LoadedHook{}},
                                        &learner_->optimizer(), host, unchecked);
  pipeline_->parameters_changed();
  pipeline_->restore_gradient_order(position.gradient_order);
  return position;
}

void MeshModel::describe(TrainResult& result) const {
  const Mesh& mesh = groups_.mesh();
  const auto memory = pipeline_->memory();
  result.parameters = parameters_;
  result.model_ranks = mesh.tp * mesh.pp;
  result.buckets = memory.parts;
  result.gradient_bytes = memory.sent;
  result.held = {.parameters = memory.parameters,
                 .gathered = memory.gathered,
                 .gradients = memory.gradients,
                 .optimizer = learner_ ? learner_->bytes() : 0};
  result.skipped_steps = learner_ ? learner_->skipped() : 0;
  if (mesh.pp > 1) result.mesh.push_back("stages: " + stages());
}

void MeshModel::set_trace(Recorder* trace) {
  tensor_.set_trace(trace);
  pipeline_->set_trace(trace);
}

std::string MeshModel::stages() const {
  std::vector<std::string> chunks;
  const auto& cut = pipeline_->cut();
  for (std::size_t i = 0; i + 1 < cut.size(); ++i) {
    const auto first = static_cast<std::size_t>(cut[i]), last = static_cast<std::size_t>(cut[i + 1]) - 1;
    chunks.push_back(first == last ? pieces_[first] : pieces_[first] + ".." + pieces_[last]);
  }
  return join(chunks, " | ");
}

}  // namespace gradwire
