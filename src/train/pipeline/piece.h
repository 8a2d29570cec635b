// A model as a row of pieces, each of which takes what the one before gives: what a pipeline cuts, and what is
// recomputed by itself. torch::nn::Sequential has its pieces; any other model declares them.
//
//   std::vector<Piece> pieces = pieces_of(sequential);
//   pieces.push_back({"head", {{"norm", norm.ptr()}, {"output", output.ptr()}},
//                     [=](const torch::Tensor& x) { return output->forward(norm->forward(x)); }});
//
// A module that two pieces name (an embedding that is the output layer too) is shared: pipeline.h says what becomes
// of it when they come to lie on different ranks.
#pragma once

#include <torch/torch.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"

namespace gradwire {

struct Piece {
  std::string name;
  // What it is made of, by the names that the model gives them.
  std::vector<std::pair<std::string, std::shared_ptr<torch::nn::Module>>> modules;
  // Keeps its modules, never the whole model: a rank frees the pieces that it doesn't run.
  std::function<torch::Tensor(const torch::Tensor&)> forward;
};

std::vector<Piece> pieces_of(const torch::nn::Sequential& model);

struct ChunkOptions {
  bool recompute =
      false;      // each piece runs again in backward instead of keeping what it computed: see recompute.h
  int first = 0;  // which piece of the model its first one is
};

// Some pieces one after another, as a module whose parameters have the names that they have in the model.
class Chunk : public torch::nn::Module {
 public:
  explicit Chunk(std::vector<Piece> pieces, const ChunkOptions& options = {});
  torch::Tensor forward(const torch::Tensor& input);
  std::size_t size() const { return pieces_.size(); }

  // Set: in the forwards that follow each piece draws (dropout, say) from a seed of its own, by its place in the model:
  // the same wherever the model is cut. Unset: from where torch's generator stands.
  void draw_from(std::optional<std::uint64_t> seed) { seed_ = seed; }

 private:
  const std::vector<Piece> pieces_;
  const ChunkOptions options_;
  std::optional<std::uint64_t> seed_;
};

// What forward and backward of each piece take on such an input, the best of a few tries. Leaves gradients and torch's
// generator as they were.
std::vector<Seconds> measure_pieces(const std::vector<Piece>& pieces, const torch::Tensor& input,
                                    int tries = 3);

}  // namespace gradwire
