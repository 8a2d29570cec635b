// What can be wrong with where things are, as text for an error: which tensor, where it is, where it should
// be, and the line to write. Pure functions without torch.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/units.h"

namespace gradwire {

struct Misplacement {
  std::string what;        // "parameter fc1.weight"
  std::string is_on;       // "cpu"
  std::string belongs_on;  // "cuda:1"
  std::string write;       // "model->to(torch::Device(\"cuda:1\"))"
};
std::string misplaced(const Misplacement&);

// Where memory is: what a backend moves, or what a device has.
struct Memories {
  std::string name;  // of the backend or the device
  bool on_gpu = false;
};
// The backend moves memory that is not where the device's tensors are: NCCL for CPU tensors, any other for a
// GPU's.
std::optional<std::string> find_backend_problem(const Memories& backend, const Memories& device);

// This process has no such GPU. `index` is empty for "cuda" without a number.
std::optional<std::string> find_missing_gpu(std::optional<int> index, int gpus, Rank rank);

struct RankPlace {
  std::string host;
  std::string device;  // as that rank calls it: "cuda:0"
  std::string gpu;     // what tells GPUs of a host apart: the PCI address; empty on CPUs
};
// Two ranks use one GPU. The places are those of the ranks in order.
std::optional<std::string> find_shared_gpu(std::span<const RankPlace> places);

}  // namespace gradwire
