// The tensors in what a model takes and gives: tensors themselves, containers, tuples, optionals and the
// values of scripted models, nested as one likes. Other things hold none, as far as this can see.
#pragma once

#include <optional>
#include <tuple>
#include <type_traits>
#include <utility>
#include <vector>

#include <torch/script.h>
#include <torch/torch.h>

namespace gradwire {

inline void add_tensors(std::vector<torch::Tensor>& found, const torch::Tensor& tensor) {
  if (tensor.defined()) found.push_back(tensor);
}

void add_tensors(std::vector<torch::Tensor>& found, const torch::jit::IValue& value);

template <typename T>
void add_tensors(std::vector<torch::Tensor>& found, const T& value);

template <typename... Parts>
void add_tensors(std::vector<torch::Tensor>& found, const std::tuple<Parts...>& parts) {
  std::apply([&](const auto&... part) { (add_tensors(found, part), ...); }, parts);
}

template <typename First, typename Second>
void add_tensors(std::vector<torch::Tensor>& found, const std::pair<First, Second>& parts) {
  add_tensors(found, parts.first);
  add_tensors(found, parts.second);
}

template <typename T>
void add_tensors(std::vector<torch::Tensor>& found, const T& value) {
  if constexpr (std::is_base_of_v<torch::Tensor, T>) {
    add_tensors(found, static_cast<const torch::Tensor&>(value));
  } else if constexpr (requires {
                         value.has_value();
                         *value;
                       }) {
    if (value.has_value()) add_tensors(found, *value);
  } else if constexpr (!std::is_convertible_v<T, std::string_view> &&
                       requires { value.begin() != value.end(); }) {
    for (const auto& part : value) add_tensors(found, part);
  }
}

template <typename... Values>
std::vector<torch::Tensor> tensors_in(const Values&... values) {
  std::vector<torch::Tensor> found;
  (add_tensors(found, values), ...);
  return found;
}

}  // namespace gradwire
