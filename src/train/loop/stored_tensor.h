// Tensors of torch as a tensor file stores them (tensor_file.h), and back. For the checkpoints; not installed.
#pragma once

#include <string>
#include <vector>

#include <torch/torch.h>

#include "base/files.h"
#include "train/ddp.h"
#include "train/loop/tensor_file.h"

namespace gradwire {

// Commits the file with these tensors, which are dense and on the host, and gives its checksum. The file stays locked as long
// as its draft lives. Throws ConfigError for a type of tensor that no file has.
std::string write_tensors(FileDraft& file, const std::vector<NamedTensor>& tensors, const Notes& notes);

// With memory of its own.
torch::Tensor tensor_of(const StoredTensor& stored);

}  // namespace gradwire
