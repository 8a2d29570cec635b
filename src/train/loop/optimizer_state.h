// What an optimizer has learnt, as named tensors: "momentum_buffer" of "fc1.weight" is
// "optimizer.fc1.weight.momentum_buffer". Of torch's SGD, Adam and AdamW; another one is refused by name.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "train/ddp.h"

namespace gradwire {

// `parameters` names those the optimizer was made with. A parameter without state yet has none here.
std::vector<NamedTensor> optimizer_tensors(torch::optim::Optimizer& optimizer,
                                           const std::vector<NamedTensor>& parameters);

// Puts them back; those of other parameters are left alone. Throws ConfigError when one does not fit its
// parameter.
void set_optimizer_tensors(torch::optim::Optimizer& optimizer, const std::vector<NamedTensor>& parameters,
                           const std::map<std::string, torch::Tensor>& tensors);

}  // namespace gradwire
