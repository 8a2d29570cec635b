// ShardedDataParallel: data parallelism in which ranks share what DistributedDataParallel has every rank keep (ZeRO,
// Rajbhandari et al. 2020). The loop is the same:
//
//   gradwire::ShardedDataParallel sharded(model, *comm, {.stage = 3});
//   torch::optim::AdamW optimizer(sharded.parameters(), 1e-3);       // over this rank's shares
//   for (auto& batch : my_part) {
//     sharded.zero_grad();
//     loss(sharded.forward(batch.data), batch.target).backward();
//     sharded.clip_grad_norm(1.0);
//     optimizer.step();
//   }
//
//   stage 1   optimizer state: each rank updates its share of the parameters, which are gathered before their next use
//   stage 2   and gradients: reduce-scattered during backward, a rank keeps its share
//   stage 3   and parameters: a unit is gathered when the model uses it, in forward and in backward, and gone after; where
//             ranks share memory it is there once for all of them, and a gather is a view
//
// Any module that DistributedDataParallel takes, as it is: what uses a parameter finds it gathered (unit_storage.h).
// Parameters are cut into units by ShardOptions::policy; parameters() are flat tensors, one a unit, so the optimizer
// must treat elements alike: SGD, Adam, AdamW and the like. In stage 3 touching a parameter (printing one, say) is a
// collective that all ranks take part in. The communicator is borrowed and must outlive the wrapper.
//
// forward() and backward() belong to one thread. docs/parallel.md says what is held and what is refused.
#pragma once

#include <concepts>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include <torch/torch.h>

#include "comm/communicator.h"
#include "trace/recorder.h"
#include "train/ddp.h"
#include "train/sharded/unit_policy.h"
#include "train/tensor/cut.h"

namespace gradwire {

struct ShardOptions {
  int stage = 3;  // 1, 2 or 3
  ShardPolicy policy = {};
  // In stage 3, where the ranks share memory (the shm backend): parameters lie there once for all ranks, each of which changes its
  // share in place, and a gather is a view. Without, and on every other backend, units are gathered by copying.
  bool views = true;
  // Set (float16, bfloat16): parameters are gathered, used and their gradients reduced in this type, while shares
  // and the optimizer keep the model's own. Inputs of forward() become it too.
  std::optional<torch::ScalarType> compute_type = {};
  // Parameters may go without a gradient, which is zero then, and nothing overlaps. In stage 3 ranks must still use the
  // same units: a gather needs all of them.
  bool allow_unused = false;
  bool broadcast_buffers = true;
  torch::Device device = torch::kCPU;
  Recorder* trace = nullptr;  // borrowed; takes down every gather, reduce-scatter and wait
};

// What this rank holds, in bytes.
struct ShardMemory {
  Bytes parameters = 0;  // shares
  Bytes gathered =
      0;  // whole units: all of them, in stage 3 the slots of those in use, or, of views, this rank's part
  Bytes gradients = 0;  // shares, and blocks for gradients of whole units
  int slots = 0, blocks = 0;
};

class ShardedCore;

// While it lives, gradients of several backwards add up before a step: see docs/parallel.md for what each stage sends.
class [[nodiscard]] ShardedNoSync {
 public:
  explicit ShardedNoSync(std::shared_ptr<ShardedCore> core);
  ~ShardedNoSync();
  ShardedNoSync(const ShardedNoSync&) = delete;
  ShardedNoSync& operator=(const ShardedNoSync&) = delete;

 private:
  std::shared_ptr<ShardedCore> core_;
};

// What a rank holds of a parameter: elements from `begin` on, counted row by row, of a tensor of `shape`.
struct ParameterPiece {
  std::string name;
  std::vector<std::int64_t> shape;
  std::int64_t begin = 0;
  torch::Tensor values;  // flat; memory of the share itself
  int unit = -1;         // which of parameters() it is a part of; -1: it is not trained
  std::int64_t at = 0;   // and where in it
  TensorPart part = {};  // of the model's tensor, where tensor parallelism cuts it: `shape` is of this part
};

// The gradient of a piece, a flat view of that of its parameter; undefined where there is none.
torch::Tensor gradient_of(const ParameterPiece& piece, const std::vector<torch::Tensor>& parameters);

// The same things for every kind of model. Users hold a ShardedDataParallel.
std::shared_ptr<ShardedCore> make_sharded_core(ModelTensors, Communicator&, const ShardOptions&);
void before_forward(ShardedCore&, const std::vector<torch::Tensor>& inputs);
void after_forward(ShardedCore&);
torch::Tensor in_compute_type(const ShardedCore&, const torch::Tensor& input);
std::vector<torch::Tensor> parameters(const ShardedCore&);
std::vector<std::string> unit_names(const ShardedCore&);
std::vector<NamedTensor> full_parameters(ShardedCore&);
std::vector<NamedTensor> full_gradients(ShardedCore&);
std::vector<ParameterPiece> pieces(const ShardedCore&);
const std::vector<NamedTensor>& buffers(const ShardedCore&);
void zero_grad(ShardedCore&);
double clip_grad_norm(ShardedCore&, double max_norm, double norm_type);
void step(ShardedCore&, torch::optim::Optimizer&);
void parameters_changed(ShardedCore&);
ShardMemory memory(const ShardedCore&);
void set_trace(ShardedCore&, Recorder*);

template <typename Input>
decltype(auto) sharded_input(const ShardedCore& core, Input&& input) {
  if constexpr (std::is_same_v<std::remove_cvref_t<Input>, torch::Tensor>)
    return in_compute_type(core, input);
  else
    return std::forward<Input>(input);
}

template <typename Model>
class ShardedDataParallel {
 public:
  using Access = ModelAccess<Model>;
  using Handle = typename Access::Handle;

  // Every rank makes one with the same options; the model's parameters become rank 0's. Throws ConfigError, on every
  // rank, when the models differ.
  ShardedDataParallel(Handle model, Communicator& communicator, const ShardOptions& options = {})
      : model_(std::move(model)), core_(make_sharded_core(Access::tensors(model_), communicator, options)) {}

  // A holder, such as torch::nn::Linear.
  template <typename Holder>
  requires(!std::same_as<Holder, Handle> &&
           requires(const Holder& holder) {
             { holder.ptr() } -> std::convertible_to<Handle>;
           })
      ShardedDataParallel(const Holder& holder, Communicator& communicator, const ShardOptions& options = {})
      : ShardedDataParallel(Handle(holder.ptr()), communicator, options) {}

  template <typename... Inputs>
  auto forward(Inputs&&... inputs) {
    before_forward(*core_, tensors_in(inputs...));
    auto outputs = Access::call(model_, sharded_input(*core_, std::forward<Inputs>(inputs))...);
    after_forward(*core_);
    return outputs;
  }

  Handle& module() { return model_; }
  // This rank's shares of the units that are trained: what an optimizer is made with.
  std::vector<torch::Tensor> parameters() const { return gradwire::parameters(*core_); }
  std::vector<std::string> units() const { return unit_names(*core_); }  // of parameters(), by name

  void zero_grad() { gradwire::zero_grad(*core_); }
  ShardedNoSync no_sync() { return ShardedNoSync(core_); }

  // After backward, on all ranks: scales all shares so that the norm of the whole gradient is at most `max_norm`, and
  // gives the norm before.
  double clip_grad_norm(double max_norm, double norm_type = 2) {
    return gradwire::clip_grad_norm(*core_, max_norm, norm_type);
  }

  // optimizer.step(), after a look at whether it treats elements alike: LBFGS is refused.
  void step(torch::optim::Optimizer& optimizer) { gradwire::step(*core_, optimizer); }
  // For shares that were changed by anything but operators of torch: what writes by their data_ptr().
  void parameters_changed() { gradwire::parameters_changed(*core_); }

  // Whole, in the shares' type, by the model's names; all ranks call these and each gets all.
  std::vector<NamedTensor> full_parameters() { return gradwire::full_parameters(*core_); }
  std::vector<NamedTensor> full_gradients() { return gradwire::full_gradients(*core_); }

  ShardMemory memory() const { return gradwire::memory(*core_); }
  void set_trace(Recorder* trace) { gradwire::set_trace(*core_, trace); }
  ShardedCore& core() const { return *core_; }

 private:
  Handle model_;
  std::shared_ptr<ShardedCore> core_;
};

template <typename Model>
ShardedDataParallel(std::shared_ptr<Model>, Communicator&) -> ShardedDataParallel<Model>;
template <typename Model>
ShardedDataParallel(std::shared_ptr<Model>, Communicator&, ShardOptions) -> ShardedDataParallel<Model>;
template <typename Model>
ShardedDataParallel(torch::nn::ModuleHolder<Model>, Communicator&) -> ShardedDataParallel<Model>;
template <typename Model>
ShardedDataParallel(torch::nn::ModuleHolder<Model>, Communicator&, ShardOptions)
    -> ShardedDataParallel<Model>;

}  // namespace gradwire
