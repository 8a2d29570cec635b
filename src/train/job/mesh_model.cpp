#include "train/job/mesh_model.h"

#include <array>
#include <cmath>
#include <numeric>

#include "base/error.h"
#include "base/text.h"
#include "train/job/mesh_options.h"
#include "train/job/trained_model.h"

namespace gradwire {
namespace {

std::int64_t count_parameters(const torch::nn::Module& model) {
  std::int64_t count = 0;
  for (const auto& parameter : model.parameters()) count += parameter.numel();
  return count;
}

std::vector<Rank> all_ranks(const Mesh& mesh) {
  std::vector<Rank> ranks(static_cast<std::size_t>(mesh.ranks()));
  std::iota(ranks.begin(), ranks.end(), 0);
  return ranks;
}

// Every rank times the pieces, all at once as in a step; rank 0's times count, because all must cut alike.
std::vector<Seconds> agreed_costs(const std::vector<Piece>& pieces, const torch::Tensor& sample,
                                  Communicator& everybody) {
  auto costs = measure_pieces(pieces, sample);
  everybody.run(broadcast(bytes_of(costs), DType::f64, 0));
  return costs;
}

// Squares of the gradients that this rank counts for its model.
double own_squares(const Pipeline& pipeline, const MeshPlace& place) {
  double sum = 0;
  for (const auto& chunk : pipeline.chunks()) {
    const auto cuts = cuts_of(*chunk);
    for (const auto& [name, tensor] : tensors_of_model(*chunk).parameters) {
      const bool elsewhere = (cuts.at(name).whole() && place.tensor > 0) || pipeline.is_repeated(name);
      if (elsewhere || !tensor.grad().defined()) continue;
      sum += tensor.grad().to(torch::kFloat64).square().sum().item<double>();
    }
  }
  return sum;
}

}  // namespace

MeshModelOptions mesh_model_options(const TrainOptions& options, const Mesh& mesh) {
  return {.mesh = mesh,
          .pipeline = pipeline_of(options),
          .sequence_parallel = options.sequence_parallel,
          .recompute = options.recompute,
          .backend = options.backend};
}

MeshModel::MeshModel(const World& world, std::shared_ptr<Net> whole, const torch::Tensor& sample,
                     const MeshModelOptions& options)
    : groups_(world, options.mesh, options.backend),
      tensor_(groups_.tensor(), {.sequence_parallel = options.sequence_parallel}),
      parameters_(count_parameters(*whole)) {
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
                       .data = options.data};
  if (options.mesh.pp > 1) {
    const auto everybody = groups_.among(all_ranks(options.mesh), "costs");
    made.costs = agreed_costs(pieces, sample, *everybody);
  }
  pipeline_ = std::make_unique<Pipeline>(groups_, std::move(pieces), made);
}

MeshModel::Answers MeshModel::test(const torch::Tensor& input, const torch::Tensor& targets) {
  const torch::NoGradGuard no_grad;
  pipeline_->train(false);
  const auto output = pipeline_->evaluate(input);
  pipeline_->train(true);
  if (!pipeline_->is_last()) return {};
  Answers answers{end_.answers(output), end_.loss(output, targets).item<double>()};
  if (place().tensor > 0) answers.classes = torch::Tensor();
  return answers;
}

double MeshModel::clip_grad_norm(double max_norm, Communicator& everybody) {
  const torch::NoGradGuard no_grad;
  std::array<double, 1> squares{own_squares(*pipeline_, place())};
  everybody.run(all_reduce(bytes_of(squares), DType::f64));
  const double norm = std::sqrt(squares[0] / groups_.mesh().dp);
  // The 1e-6 is torch::nn::utils::clip_grad_norm_'s own.
  if (const double factor = max_norm / (norm + 1e-6); factor < 1)
    for (auto& parameter : pipeline_->parameters())
      if (parameter.grad().defined()) parameter.grad().mul_(factor);
  return norm;
}

void MeshModel::update(double clip, Communicator& everybody) {
  if (clip > 0) clip_grad_norm(clip, everybody);
  optimizer_->step();
  pipeline_->zero_grad();
}

void MeshModel::describe(TrainResult& result) const {
  const Mesh& mesh = groups_.mesh();
  result.parameters = parameters_;
  result.model_ranks = mesh.tp * mesh.pp;
  result.buckets = pipeline_->buckets();
  for (const auto& parameter : pipeline_->parameters()) result.gradient_bytes += parameter.nbytes();
  result.held = {.parameters = result.gradient_bytes,
                 .gradients = result.gradient_bytes,
                 .optimizer = optimizer_ ? bytes_of_state(*optimizer_, pipeline_->parameters()) : 0};
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
