#include "train/ddp_core.h"

#include <unordered_set>

#include "base/error.h"
#include "train/placement.h"
#include "train/placement_check.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

std::vector<NamedTensor> wanting_gradients(const ModelTensors& model) {
  std::vector<NamedTensor> result;
  for (const auto& parameter : model.parameters) {
    if (!parameter.tensor.requires_grad()) continue;
    dtype_of(parameter.tensor.scalar_type(), "parameter " + parameter.name);
    if (!parameter.tensor.is_leaf())
      throw ConfigError(
          fmt::format("parameter {} is the result of a computation, not a leaf of the graph: "
                      "register the tensor itself",
                      parameter.name));
    result.push_back(parameter);
  }
  return result;
}

// Named by what they are for, in the order of the model.
template <typename List>
std::vector<NamedTensor> without_repeats(const List& list) {
  std::vector<NamedTensor> result;
  std::unordered_set<void*> seen;
  for (const auto& item : list) {
    const auto [name, tensor] = item;
    if (tensor.defined() && seen.insert(tensor.unsafeGetTensorImpl()).second)
      result.push_back({name, tensor});
  }
  return result;
}

struct Pair {
  std::string name;
  torch::Tensor tensor;
};

template <typename Dictionary>
std::vector<Pair> pairs(const Dictionary& dictionary) {
  std::vector<Pair> result;
  for (const auto& item : dictionary) result.push_back({item.key(), item.value()});
  return result;
}

template <typename List>
std::vector<Pair> script_pairs(const List& list) {
  std::vector<Pair> result;
  for (const auto& item : list) result.push_back({item.name, item.value});
  return result;
}

}  // namespace

ModelTensors tensors_of_model(torch::nn::Module& model) {
  return {without_repeats(pairs(model.named_parameters())), without_repeats(pairs(model.named_buffers()))};
}

ModelTensors tensors_of_model(torch::jit::Module& model) {
  return {without_repeats(script_pairs(model.named_parameters())),
          without_repeats(script_pairs(model.named_buffers()))};
}

DdpCore::DdpCore(ModelTensors model, Communicator& communicator, const DdpOptions& options)
    : model_(std::move(model)),
      options_(options),
      streams_(make_device_streams(options.device, communicator)),
      trace_(options.trace) {
  check_placement(model_, options_, communicator);
  agree_on_model(model_, streams_->communicator(), options_.device);
  TensorBroadcast(model_.parameters, streams_->communicator()).from(0);
  buffers_ = std::make_unique<TensorBroadcast>(model_.buffers, streams_->communicator());
  buffers_->from(0);
  reducer_ = std::make_shared<Reducer>(wanting_gradients(model_), *streams_, options_);
  warn_about_this_rank(communicator);
  if (trace_ != nullptr) streams_->set_trace(trace_);
}

void DdpCore::before_forward(const std::vector<torch::Tensor>& inputs) {
  check_inputs(inputs);
  if (!torch::GradMode::is_enabled()) return;
  check_unchanged();
  reducer_->before_forward();
  if (no_sync_ > 0) return;
  if (joining_) active_ranks(true);
  if (options_.broadcast_buffers && !buffers_->empty()) sync_buffers(source_);
}

void DdpCore::after_forward(const std::vector<torch::Tensor>& outputs) {
  if (!torch::GradMode::is_enabled()) return;
  auto pass = std::make_shared<Pass>();
  pass->sync = no_sync_ == 0;
  if (pass->sync && options_.find_unused_parameters) pass->unused = find_unused(outputs, reducer_->nodes());
  reducer_->announce(pass);
  for (const auto& output : outputs)
    if (output.grad_fn())
      output.register_hook([reducer = std::weak_ptr(reducer_), pass](const torch::Tensor&) {
        if (const auto alive = reducer.lock()) alive->enter(pass);
      });
}

void DdpCore::check_inputs(const std::vector<torch::Tensor>& inputs) const {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].device() != options_.device)
      throw ConfigError(
          misplaced({.what = fmt::format("input {} of forward", i),
                     .is_on = inputs[i].device().str(),
                     .belongs_on = options_.device.str(),
                     .write = fmt::format("input.to(torch::Device(\"{}\"))", options_.device.str())}));
}

// Gradients of parameters that were not there, or were frozen, when the buckets were made would silently stay
// this rank's own.
void DdpCore::check_unchanged() const {
  std::size_t wanting = 0;
  for (const auto& [name, tensor] : model_.parameters) {
    if (tensor.device() != options_.device)
      throw ConfigError(
          fmt::format("parameter {} was moved to {} after DistributedDataParallel was made on {}: "
                      "move the model first",
                      name, tensor.device().str(), options_.device.str()));
    if (!tensor.requires_grad()) continue;
    const auto& expected = reducer_->parameters();
    if (wanting >= expected.size() || expected[wanting].name != name)
      throw ConfigError(
          fmt::format("parameter {} was frozen when DistributedDataParallel was made and wants "
                      "gradients now: make a new DistributedDataParallel",
                      name));
    ++wanting;
  }
  if (wanting != reducer_->parameters().size())
    throw ConfigError(
        fmt::format("{} parameters want gradients, and {} did when DistributedDataParallel was made: "
                    "make a new DistributedDataParallel after freezing",
                    wanting, reducer_->parameters().size()));
}

void DdpCore::sync_buffers(Rank root) {
  const Timed timed(trace_, SpanKind::wait, "buffers");
  buffers_->from(root);
}

void DdpCore::set_trace(Recorder* trace) {
  streams_->set_trace(trace);
  trace_ = trace;
  reducer_->set_trace(trace);
}

}  // namespace gradwire
