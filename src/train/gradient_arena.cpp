#include "train/gradient_arena.h"

#include "base/error.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

bool is_zero(const torch::Tensor& tensor) { return !tensor.ne(0).any().item<bool>(); }

}  // namespace

GradientArena::GradientArena(std::vector<torch::Tensor> parameters, Communicator& communicator)
    : parameters_(std::move(parameters)), bucket_of_(parameters_.size(), -1), views_(parameters_.size()) {
  std::map<int, std::size_t> bytes;
  for (const auto& parameter : parameters_) {
    const int kind = static_cast<int>(parameter.scalar_type());
    items_.push_back({static_cast<Bytes>(parameter.nbytes()), kind});
    bytes[kind] += padded_bytes(parameter);
  }
  for (const auto& [kind, size] : bytes)
    blocks_[kind] = std::make_shared<Memory>(communicator.allocate(std::max<std::size_t>(size, 1)));
}

void GradientArena::lay_out(const std::vector<Bucket>& buckets) {
  const torch::NoGradGuard no_grad;
  const auto values = this->values();
  layout_ = buckets;
  buckets_.clear();
  std::fill(bucket_of_.begin(), bucket_of_.end(), -1);
  std::map<int, std::size_t> used;
  for (std::size_t index = 0; index < buckets.size(); ++index)
    place(static_cast<int>(index), layout_[index], used);
  clear();
  for (std::size_t parameter = 0; parameter < parameters_.size(); ++parameter)
    if (values[parameter]) restore(static_cast<int>(parameter), *values[parameter]);
}

void GradientArena::restore(int parameter, const torch::Tensor& value) {
  const bool has_bucket = bucket_of_[parameter] >= 0;
  if (has_bucket && value.defined()) views_[parameter].copy_(value);
  auto& grad = parameters_[parameter].mutable_grad();
  if (has_bucket)
    grad = views_[parameter];
  else
    grad = value.defined() ? value : torch::zeros_like(parameters_[parameter]);
}

// Of the gradients that lie here, a copy where one holds something: in most loops none does between steps.
std::vector<std::optional<torch::Tensor>> GradientArena::values() const {
  std::vector<std::optional<torch::Tensor>> values(parameters_.size());
  for (std::size_t parameter = 0; parameter < parameters_.size(); ++parameter)
    if (is_attached(static_cast<int>(parameter)))
      values[parameter] = is_zero(views_[parameter]) ? torch::Tensor() : views_[parameter].clone();
  return values;
}

void GradientArena::place(int index, const Bucket& bucket, std::map<int, std::size_t>& used) {
  const auto memory = blocks_.at(bucket.kind);
  std::size_t& offset = used[bucket.kind];
  const std::size_t begin = offset;
  GradBucket made{.index = index, .flat = {}, .gradients = {}, .parameters = bucket.members};
  for (const int member : bucket.members) {
    const auto& parameter = parameters_[member];
    const auto bytes = memory->bytes().subspan(offset, static_cast<std::size_t>(parameter.nbytes()));
    views_[member] = tensor_in(memory, bytes, parameter);
    bucket_of_[member] = index;
    made.gradients.push_back(views_[member]);
    offset += padded_bytes(parameter);
  }
  const auto& first = parameters_[bucket.members.front()];
  made.flat = flat_tensor_in(memory, memory->bytes().subspan(begin, offset - begin),
                             torch::TensorOptions().dtype(first.dtype()).device(first.device()));
  made.last = false;
  buckets_.push_back(std::move(made));
}

bool GradientArena::is_attached(int parameter) const {
  const auto& grad = parameters_[parameter].grad();
  return bucket_of_[parameter] >= 0 && grad.defined() && grad.layout() == torch::kStrided &&
         grad.data_ptr() == views_[parameter].data_ptr();
}

bool GradientArena::attach(int parameter) {
  const auto& grad = parameters_[parameter].grad();
  if (!grad.defined()) return false;
  if (is_attached(parameter)) return true;
  views_[parameter].copy_(grad.layout() == torch::kStrided ? grad : grad.to_dense());
  parameters_[parameter].mutable_grad() = views_[parameter];
  return true;
}

void GradientArena::clear_if_absent(int parameter) {
  if (!attach(parameter) && bucket_of_[parameter] >= 0) views_[parameter].zero_();
}

void GradientArena::set_gradient(int parameter, bool present) {
  auto& grad = parameters_[parameter].mutable_grad();
  if (!present)
    grad.reset();
  else if (!is_attached(parameter))
    grad = views_[parameter];
}

void GradientArena::clear() {
  for (const auto& bucket : buckets_) bucket.flat.zero_();
}

}  // namespace gradwire
