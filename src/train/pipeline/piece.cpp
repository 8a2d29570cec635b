#include "train/pipeline/piece.h"

#include <algorithm>

#include "base/error.h"
#include "trace/recorder.h"
#include "train/loop/seed.h"
#include "train/pipeline/recompute.h"

namespace gradwire {
namespace {

std::vector<torch::Tensor> parameters_of(const Piece& piece) {
  std::vector<torch::Tensor> found;
  for (const auto& [name, module] : piece.modules)
    for (const auto& parameter : module->parameters())
      if (parameter.requires_grad()) found.push_back(parameter);
  return found;
}

// Gradients go nowhere: they are asked for, not added up.
Seconds time_piece(const Piece& piece, const torch::Tensor& input) {
  auto wanted = parameters_of(piece);
  if (input.requires_grad()) wanted.push_back(input);
  const Seconds begin = steady_now();
  const auto output = piece.forward(input);
  if (!wanted.empty())
    torch::autograd::grad({output}, wanted, {torch::ones_like(output)}, /*retain_graph=*/false,
                          /*create_graph=*/false, /*allow_unused=*/true);
  return steady_now() - begin;
}

}  // namespace

std::vector<Piece> pieces_of(const torch::nn::Sequential& model) {
  std::vector<Piece> pieces;
  const auto names = model->named_children().keys();
  for (const auto& module : *model) {
    const std::string& name = names[pieces.size()];
    pieces.push_back({name, {{name, module.ptr()}}, [layer = module](const torch::Tensor& input) mutable {
                        return layer.forward<torch::Tensor>(input);
                      }});
  }
  return pieces;
}

Chunk::Chunk(std::vector<Piece> pieces, const ChunkOptions& options)
    : pieces_(std::move(pieces)), options_(options) {
  for (const auto& piece : pieces_)
    for (const auto& [name, module] : piece.modules) {
      const auto children = named_children();
      if (!children.contains(name))
        register_module(name, module);
      else if (children[name].get() != module.get())
        throw ConfigError(fmt::format("two modules of a model's pieces are called {}", name));
    }
}

torch::Tensor Chunk::forward(const torch::Tensor& input) {
  torch::Tensor x = input;
  int number = options_.first;
  for (const Piece& piece : pieces_) {
    if (seed_ && is_training()) seed_rank(*seed_, number);
    x = options_.recompute ? recompute(piece.forward, x, parameters_of(piece)) : piece.forward(x);
    ++number;
  }
  return x;
}

std::vector<Seconds> measure_pieces(const std::vector<Piece>& pieces, const torch::Tensor& input, int tries) {
  const KeptGenerator kept;
  std::vector<Seconds> costs;
  torch::Tensor x = input;
  for (const Piece& piece : pieces) {
    Seconds best = time_piece(piece, x);  // the first warms up
    for (int i = 0; i < tries; ++i) best = std::min(best, time_piece(piece, x));
    costs.push_back(best);
    x = piece.forward(x).detach();
    x.requires_grad_(x.is_floating_point());
  }
  return costs;
}

}  // namespace gradwire
