#include "train/loop/optimizer_state.h"

#include <sstream>
#include <type_traits>

#include "base/error.h"

namespace gradwire {
namespace {

using torch::optim::AdamParamState;
using torch::optim::AdamWParamState;
using torch::optim::Optimizer;
using torch::optim::SGDParamState;
using StateTensors = std::map<std::string, torch::Tensor>;

// libtorch 1.13 looks state up by the parameter's address as a stream writes it, 2.x by the address.
template <typename Map>
typename Map::key_type key_in(const Map&, const torch::Tensor& parameter) {
  if constexpr (std::is_same_v<typename Map::key_type, std::string>) {
    std::ostringstream text;
    text << parameter.unsafeGetTensorImpl();
    return text.str();
  } else {
    return parameter.unsafeGetTensorImpl();
  }
}

std::string prefix_of(const NamedTensor& parameter) { return "optimizer." + parameter.name + "."; }

void list(const SGDParamState& state, StateTensors& found) {
  found["momentum_buffer"] = state.momentum_buffer();
}

template <typename State>
void list_adam(const State& state, StateTensors& found) {
  found["step"] = torch::tensor(static_cast<std::int64_t>(state.step()));
  found["exp_avg"] = state.exp_avg();
  found["exp_avg_sq"] = state.exp_avg_sq();
  found["max_exp_avg_sq"] = state.max_exp_avg_sq();
}

// A tensor of this name, on the parameter's device, or an undefined one.
torch::Tensor take(const StateTensors& tensors, const NamedTensor& parameter, const std::string& what) {
  const auto found = tensors.find(prefix_of(parameter) + what);
  if (found == tensors.end()) return {};
  if (what != "step" && found->second.sizes() != parameter.tensor.sizes())
    throw ConfigError(fmt::format("{} of {} values does not fit its parameter of {}", found->first,
                                  found->second.numel(), parameter.tensor.numel()));
  return what == "step" ? found->second
                        : found->second.to(parameter.tensor.device(), /*non_blocking=*/false, /*copy=*/true);
}

std::unique_ptr<torch::optim::OptimizerParamState> make_sgd(const StateTensors& tensors,
                                                            const NamedTensor& parameter) {
  auto state = std::make_unique<SGDParamState>();
  state->momentum_buffer(take(tensors, parameter, "momentum_buffer"));
  return state;
}

template <typename State>
std::unique_ptr<torch::optim::OptimizerParamState> make_adam(const StateTensors& tensors,
                                                             const NamedTensor& parameter) {
  auto state = std::make_unique<State>();
  const auto step = take(tensors, parameter, "step");
  state->step(step.defined() ? step.template item<std::int64_t>() : 0);
  state->exp_avg(take(tensors, parameter, "exp_avg"));
  state->exp_avg_sq(take(tensors, parameter, "exp_avg_sq"));
  state->max_exp_avg_sq(take(tensors, parameter, "max_exp_avg_sq"));
  if (!state->exp_avg().defined() || !state->exp_avg_sq().defined())
    throw ConfigError(
        fmt::format("the averages of {} are missing: was this saved by another optimizer?", parameter.name));
  return state;
}

enum class Kind { sgd, adam, adamw };

Kind kind_of(const Optimizer& optimizer) {
  if (dynamic_cast<const torch::optim::SGD*>(&optimizer)) return Kind::sgd;
  if (dynamic_cast<const torch::optim::AdamW*>(&optimizer)) return Kind::adamw;
  if (dynamic_cast<const torch::optim::Adam*>(&optimizer)) return Kind::adam;
  throw ConfigError(
      "checkpoints know the state of torch's SGD, Adam and AdamW: save the model without the optimizer");
}

StateTensors tensors_of_state(Kind kind, const torch::optim::OptimizerParamState& state) {
  StateTensors found;
  if (kind == Kind::sgd) list(static_cast<const SGDParamState&>(state), found);
  if (kind == Kind::adam) list_adam(static_cast<const AdamParamState&>(state), found);
  if (kind == Kind::adamw) list_adam(static_cast<const AdamWParamState&>(state), found);
  return found;
}

std::unique_ptr<torch::optim::OptimizerParamState> make_state(Kind kind, const StateTensors& tensors,
                                                              const NamedTensor& parameter) {
  if (kind == Kind::sgd) return make_sgd(tensors, parameter);
  return kind == Kind::adam ? make_adam<AdamParamState>(tensors, parameter)
                            : make_adam<AdamWParamState>(tensors, parameter);
}

bool has_any(const StateTensors& tensors, const std::string& prefix) {
  const auto found = tensors.lower_bound(prefix);
  return found != tensors.end() && found->first.starts_with(prefix);
}

}  // namespace

std::vector<NamedTensor> optimizer_tensors(Optimizer& optimizer, const std::vector<NamedTensor>& parameters) {
  const Kind kind = kind_of(optimizer);
  std::vector<NamedTensor> all;
  for (const auto& parameter : parameters) {
    const auto found = optimizer.state().find(key_in(optimizer.state(), parameter.tensor));
    if (found == optimizer.state().end()) continue;
    for (const auto& [what, tensor] : tensors_of_state(kind, *found->second))
      if (tensor.defined()) all.push_back({prefix_of(parameter) + what, tensor});
  }
  return all;
}

void set_optimizer_tensors(Optimizer& optimizer, const std::vector<NamedTensor>& parameters,
                           const StateTensors& tensors) {
  const Kind kind = kind_of(optimizer);
  for (const auto& parameter : parameters)
    if (has_any(tensors, prefix_of(parameter)))
      optimizer.state()[key_in(optimizer.state(), parameter.tensor)] = make_state(kind, tensors, parameter);
}

}  // namespace gradwire
