// The questions of placement.h asked of a real model, communicator and machine. All ranks call
// check_placement().
#pragma once

#include "comm/communicator.h"
#include "train/ddp.h"

namespace gradwire {

// Throws ConfigError for the first thing that is not where it belongs.
void check_placement(const ModelTensors& model, const DdpOptions& options, Communicator& communicator);

// Tells on stderr what makes this rank slow: a bad BLAS, more threads than its share of the cores.
void warn_about_this_rank(const Communicator& communicator);

// The PCI address of a GPU. In cuda_device.cpp or no_cuda_device.cpp.
std::string gpu_address(int index);

}  // namespace gradwire
