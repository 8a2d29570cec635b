#include "train/tensor/parts.h"

#include "base/error.h"
#include "train/tensor/cut_name.h"

namespace gradwire {
namespace {

// Equal in everything but the length along one dimension.
bool differ_in_length_alone(const torch::Tensor& one, const torch::Tensor& other, std::int64_t dim) {
  if (one.dim() != other.dim() || one.scalar_type() != other.scalar_type()) return false;
  for (std::int64_t i = 0; i < one.dim(); ++i)
    if (i != dim && one.size(i) != other.size(i)) return false;
  return true;
}

}  // namespace

torch::Tensor part_of(const torch::Tensor& whole, const TensorCut& cut, int parts, int index) {
  if (cut.whole()) return whole.clone();
  std::vector<torch::Tensor> pieces;
  for (const Share& share : shares_of(whole.size(cut.dim), cut.blocks, parts, index))
    pieces.push_back(whole.narrow(cut.dim, share.begin, share.count));
  return torch::cat(pieces, cut.dim);
}

torch::Tensor joined_parts(const std::vector<torch::Tensor>& parts, const TensorCut& cut) {
  std::vector<torch::Tensor> pieces;
  for (int block = 0; block < cut.blocks; ++block)
    for (const auto& part : parts) {
      const auto count = part.size(cut.dim) / cut.blocks;
      pieces.push_back(part.narrow(cut.dim, block * count, count));
    }
  return torch::cat(pieces, cut.dim);
}

torch::Tensor joined_cut(const std::map<int, CutPiece>& pieces) {
  check(!pieces.empty(), "a tensor has parts");
  const auto& [first, tensor] = pieces.begin()->second;
  std::vector<TensorPart> parts;
  std::vector<std::int64_t> lengths;
  std::vector<torch::Tensor> tensors;
  for (const auto& [index, piece] : pieces) {
    if (first.cut.dim >= tensor.dim() || !differ_in_length_alone(piece.tensor, tensor, first.cut.dim))
      throw ConfigError("its parts have shapes or types that don't go together");
    parts.push_back(piece.part);
    lengths.push_back(piece.tensor.size(first.cut.dim));
    tensors.push_back(piece.tensor);
  }
  check_parts(parts, lengths);
  return joined_parts(tensors, first.cut);
}

bool fits_part(at::IntArrayRef whole, const TensorPart& part, at::IntArrayRef own) {
  auto expected = whole.vec();
  if (!part.whole()) {
    const auto dim = static_cast<std::size_t>(part.cut.dim);
    const auto length = dim < expected.size() ? find_length(expected[dim], part) : std::nullopt;
    if (!length) return false;
    expected[dim] = *length;
  }
  return own.vec() == expected;
}

}  // namespace gradwire
