// What the ranks tell each other about a backward besides the gradients: which parameters had one, and in
// which order they came. And the backward of a rank that has none.
#include <unordered_map>

#include "train/reducer.h"
#include "train/tensor_bytes.h"

namespace gradwire {

// A parameter keeps or gets a gradient when any rank has one for it: just what one process with the whole
// batch would have. Gives the order in which those came that any rank has.
std::vector<int> Reducer::agree_on_presence() {
  auto present = torch::zeros({static_cast<std::int64_t>(parameters_.size())},
                              torch::TensorOptions().dtype(torch::kUInt8));
  auto* const here = present.data_ptr<std::uint8_t>();
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    here[i] = !shadow_ && arena_.has_gradient(static_cast<int>(i));
  present = present.to(options_.device);
  all_reduce(communicator_, present, Reduction::max);
  present = present.to(torch::kCPU);
  const auto* const anywhere = present.data_ptr<std::uint8_t>();
  std::vector<int> order;
  for (const int parameter : ledger_.order())
    if (anywhere[parameter] != 0) order.push_back(parameter);
  for (std::size_t i = 0; i < parameters_.size(); ++i)
    if (arena_.bucket_of(static_cast<int>(i)) >= 0)
      arena_.set_gradient(static_cast<int>(i), anywhere[i] != 0);
  return order;
}

// The buckets of later steps follow the order in which rank 0's gradients came. Of a static graph it leaves out what no rank
// uses.
void Reducer::agree_on_order(const std::vector<int>& seen) {
  if (!has_order()) {
    order_known_ = true;
    return;
  }
  auto order = torch::full({static_cast<std::int64_t>(parameters_.size()) + 1}, -1,
                           torch::TensorOptions().dtype(torch::kInt32));
  auto* const mine = order.data_ptr<std::int32_t>();
  std::copy(seen.begin(), seen.end(), mine);
  mine[parameters_.size()] = shadow_ ? 0 : 1;
  order = order.to(options_.device);
  communicator_.run(broadcast(memory_of(order), DType::i32, 0));
  order = order.to(torch::kCPU);
  const auto* const values = order.data_ptr<std::int32_t>();
  order_known_ = values[parameters_.size()] != 0;
  if (!order_known_) return;  // rank 0 had no backward of its own this time
  follow({values, std::find_if(values, values + parameters_.size(), [](auto v) { return v < 0; })});
}

void Reducer::follow(std::vector<int> order) {
  const BucketCaps caps{.first = options_.first_bucket_bytes, .rest = options_.bucket_bytes};
  order_ = std::move(order);
  next_layout_ = assign_buckets(arena_.items(), order_, caps);
  if (next_layout_ == arena_.layout()) next_layout_.clear();
}

std::vector<std::string> Reducer::order() {
  const Lock lock(mutex_);
  std::vector<std::string> names;
  for (const int parameter : order_) names.push_back(name(parameter));
  return names;
}

// What each rank leaves out of a static graph is looked at again, and the order with it.
void Reducer::restore_order(const std::vector<std::string>& names) {
  const Lock lock(mutex_);
  auto order = find_order(names);
  if (!order || !has_order()) return;
  follow(std::move(*order));
  order_known_ = !options_.static_graph;
}

// All parameters, each once; nothing where the names are of others.
std::optional<std::vector<int>> Reducer::find_order(const std::vector<std::string>& names) const {
  std::unordered_map<std::string, int> numbers;
  for (const auto& parameter : parameters_) numbers.emplace(parameter.name, static_cast<int>(numbers.size()));
  std::vector<int> order;
  for (const auto& name : names) {
    const auto found = numbers.extract(name);
    if (found.empty()) return std::nullopt;
    order.push_back(found.mapped());
  }
  return numbers.empty() ? std::optional(std::move(order)) : std::nullopt;
}

void Reducer::shadow_backward() {
  const torch::NoGradGuard no_grad;
  const Lock lock(mutex_);
  shadow_ = true;
  start_pass();
  arena_.clear();
  ledger_.note_all_absent();
  finish();
  shadow_ = false;
}

}  // namespace gradwire
