// Tensors as tensor-parallel ranks hold them: cut from the whole, and put together again. Functions of tensors; nothing is sent.
#pragma once

#include <torch/torch.h>

#include <map>
#include <vector>

#include "train/tensor/cut.h"

namespace gradwire {

// A rank's part of a whole tensor, with memory of its own.
torch::Tensor part_of(const torch::Tensor& whole, const TensorCut& cut, int parts, int index);

// The whole from the parts of all ranks, in their order.
torch::Tensor joined_parts(const std::vector<torch::Tensor>& parts, const TensorCut& cut);

// A part that says itself what it is, as a checkpoint's do.
struct CutPiece {
  TensorPart part;
  torch::Tensor tensor;
};

// The same of parts by their numbers, which may be anything: throws ConfigError where they are not all of one tensor.
torch::Tensor joined_cut(const std::map<int, CutPiece>& pieces);

// Whether a rank's part of a tensor of shape `whole` has shape `own`.
bool fits_part(at::IntArrayRef whole, const TensorPart& part, at::IntArrayRef own);

}  // namespace gradwire
