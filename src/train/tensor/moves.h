// What tensor parallelism sends between ranks, each with the gradient that belongs to it. In the order "forward
// does / backward does":
//
//   enter_split     nothing / sum over ranks      a tensor all ranks have goes into layers that are cut
//   leave_split     sum over ranks / nothing      ranks' addends become the tensor all ranks have
//   gather_rows     all-gather / reduce-scatter   ranks' parts of a sequence go into layers that are cut
//   scatter_sums    reduce-scatter / all-gather   ranks' addends become each rank's part of the sequence
//   own_rows        a part / all-gather           a tensor all ranks have becomes each rank's part
//   all_rows        all-gather / a part           ranks' parts become the tensor all ranks have
//   join_gradients  nothing / sum over ranks      parameters all ranks have, used on parts: one call for all
//
// "Rows" lie along the last dimension but one, the sequence, which must divide among the ranks. Every rank of the
// group makes the same calls; a group of one rank moves nothing.
#pragma once

#include <torch/torch.h>

#include <map>
#include <string>
#include <vector>

#include "train/tensor/cut.h"
#include "train/tensor/group.h"
#include "train/tensor/parts.h"

namespace gradwire {

torch::Tensor enter_split(TensorGroup& group, const torch::Tensor& input);
torch::Tensor leave_split(TensorGroup& group, const torch::Tensor& input);
torch::Tensor gather_rows(TensorGroup& group, const torch::Tensor& input);
torch::Tensor scatter_sums(TensorGroup& group, const torch::Tensor& input);
torch::Tensor own_rows(TensorGroup& group, const torch::Tensor& input);
torch::Tensor all_rows(TensorGroup& group, const torch::Tensor& input);
std::vector<torch::Tensor> join_gradients(TensorGroup& group, const std::vector<torch::Tensor>& parameters);

// The whole of a tensor of which each rank has a part (parts.h): all ranks call it.
torch::Tensor whole_of(TensorGroup& group, const torch::Tensor& part, const TensorCut& cut);

// Modules some of whose own parameters are a part of the unsplit layer's.
class SplitModule {
 public:
  virtual ~SplitModule() = default;
  virtual TensorCut cut_of(const std::string& parameter) const = 0;
};

// Of the model's parameters, by name. The model is held by a shared_ptr.
std::map<std::string, TensorCut> cuts_of(torch::nn::Module& model);

}  // namespace gradwire
