// How a part of a tensor that tensor parallelism has cut is called in a checkpoint: "qkv.weight{1-of-2 dim 0 blocks 3}" is the
// second of two ranks' rows of a matrix of three blocks. Names come from files: everything is checked. Without torch.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "train/tensor/cut.h"

namespace gradwire {

struct CutName {
  std::string tensor;
  TensorPart part;
  bool operator==(const CutName&) const = default;
};

std::string cut_name(const CutName& name);  // of a part that is all of its tensor: the tensor's own name

// Nothing where a name is that of a whole tensor, or says what can't be.
std::optional<CutName> find_cut_name(std::string_view name);

// Whether parts are all of one tensor, each once, given how long each is along the dimension that is cut. Throws ConfigError.
void check_parts(const std::vector<TensorPart>& parts, const std::vector<std::int64_t>& lengths);

}  // namespace gradwire
