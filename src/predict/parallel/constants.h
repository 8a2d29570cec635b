// The few constants of the price of a plan that no data sheet gives, each with a prior of its own and a source in
// presets/parallel.yaml: found jointly from published runs, with an effect for each source beside them, since
// software moves figures as much as hardware does. A value.
#pragma once

#include <array>
#include <string>
#include <string_view>
#include <vector>

namespace gradwire {

enum class ParallelConstant {
  matmul,     // share of the peak that large matrix products reach on a GPU with the balance of an A100
  balance,    // how that share falls with flops a byte of memory, as a power
  fp8,        // share of what is gained on paper by 8-bit products that is left
  attention,  // share of the 16-bit peak that fused attention reaches
  kernel,     // microseconds a matrix product takes beyond its arithmetic: launch, first and last wave
  elements,  // times that activations are read or written in a forward beyond those of attention and products
  fusion,    // share of that traffic which a compiler leaves
  output,    // bytes of memory traffic for each logit, forward and backward
  tensor,    // times the time that NCCL's model gives, of what tensor parallelism sends inside a layer
  slowdown,  // share of a collective's time that compute under it loses
  hiding,    // share of compute under which collectives can hide
  stage,     // messages between stages: share of their time that shows
  micro,     // milliseconds of each micro-batch
  spread,    // share of a step by which ranks differ
  update,    // bytes of memory traffic of the optimizer for each parameter
  host,  // share of the slot's rate that traffic to host memory seems to reach; above 1 where part of it hides
  frozen,   // bytes of memory traffic a frozen weight costs each time it is used beyond its product (QLoRA)
  desktop,  // what a GeForce's clock adds to its quoted peak
};
inline constexpr int kParallelConstants = 18;

using ParallelValues = std::array<double, kParallelConstants>;

struct ParallelPrior {
  std::string name;
  double value = 1, prior = 1;  // fitted, and where the fit begins
  double spread = 0.3;          // standard deviation of the logarithm before any measurement
  std::string source;
};

struct ParallelModel {
  ParallelValues values{};
  std::vector<ParallelPrior> priors;
  double error_given = 0, error_alone = 0;  // of a step: another configuration given, and not
  double error_of(bool given) const { return given ? error_given : error_alone; }
  double at(ParallelConstant constant) const { return values[static_cast<std::size_t>(constant)]; }
  ParallelValues prior_values() const;
};

std::string_view name_of(ParallelConstant);
ParallelModel parse_parallel_model(std::string_view yaml, std::string_view where);  // throws ConfigError
const ParallelModel& default_parallel_model();                                      // presets/parallel.yaml

}  // namespace gradwire
