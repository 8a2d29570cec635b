// Tells when autograd has added to a parameter's gradient, while this lives. What is called runs in autograd's thread, inside
// backward, and must not outlive the hooks.
#pragma once

#include <cstdint>
#include <functional>
#include <vector>

#include "train/ddp.h"
#include "train/graph.h"

namespace gradwire {

class GradientHooks {
 public:
  GradientHooks() = default;
  ~GradientHooks();
  GradientHooks(const GradientHooks&) = delete;
  GradientHooks& operator=(const GradientHooks&) = delete;

  // Throws ConfigError where others have hooks on the parameter.
  void add(const NamedTensor& parameter, std::function<void()> call);
  const GradientNodes& nodes() const { return nodes_; }  // as they were added

 private:
  GradientNodes nodes_;
  std::vector<std::uintptr_t> keys_;
};

}  // namespace gradwire
