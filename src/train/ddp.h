// DistributedDataParallel for libtorch: every rank has the whole model and a part of the batch, and after
// backward() every rank has the same gradients, the average over the ranks.
//
//   auto world = gradwire::join();                              // env://, as gradwire run and torchrun set
//   auto comm = gradwire::make_communicator(world);            // shm on one host
//   auto model = std::make_shared<Net>();
//   gradwire::DistributedDataParallel ddp(model, *comm);        // rank 0's parameters are now everyone's
//   torch::optim::SGD optimizer(ddp.parameters(), 0.1);
//   for (auto& batch : my_part) {
//     ddp.zero_grad();
//     loss(ddp.forward(batch.data), batch.target).backward();   // communicates while it computes
//     optimizer.step();
//   }
//
// Wraps a std::shared_ptr or holder of any torch::nn::Module, a torch::nn::AnyModule, or a
// torch::jit::Module. Gradients are views of the buckets and the buckets live in the communicator's memory:
// nothing is copied. The communicator is borrowed and must outlive the wrapper; gradients may outlive both.
//
// forward() and backward() belong to one thread. Whether a backward communicates is decided by the forward it
// belongs to (see no_sync). docs/ddp.md says what is guaranteed and what is refused.
#pragma once

#include <concepts>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include <torch/script.h>
#include <torch/torch.h>

#include "comm/communicator.h"
#include "sched/buckets.h"
#include "sched/training.h"
#include "trace/recorder.h"
#include "train/comm_hook.h"
#include "train/tensors_in.h"

namespace gradwire {

struct DdpOptions {
  Bytes first_bucket_bytes = Bytes{1} << 20;
  Bytes bucket_bytes = Bytes{25} << 20;
  bool find_unused_parameters = false;  // parameters may go without a gradient, different ones on each rank
  bool static_graph = false;      // every step uses the same parameters; looked at once, then relied upon
  bool broadcast_buffers = true;  // rank 0's buffers (running means, say) go to all before a training forward
  torch::Device device = torch::kCPU;  // where this rank's model and inputs are to be
  bool move_to_device = false;         // moves the model there instead of refusing one that is elsewhere
  Overlap overlap = Overlap::automatic;
  std::shared_ptr<CommHook> hook = {};  // unset: the plain average
  Recorder* trace = nullptr;            // borrowed; takes down every bucket and wait
};

class DdpCore;  // all of it that does not depend on the model's type

// While it lives, forwards of the wrapper make pairs of forward and backward that do not communicate; their
// gradients add up where they are. The first pair made without it sends everything that has added up.
class [[nodiscard]] NoSync {
 public:
  explicit NoSync(std::shared_ptr<DdpCore> core);
  ~NoSync();
  NoSync(const NoSync&) = delete;
  NoSync& operator=(const NoSync&) = delete;

 private:
  std::shared_ptr<DdpCore> core_;
};

struct JoinRule {
  // True: gradients are divided by the number of all ranks to the end, so that every sample counts the same.
  // False: by the number of those that still have input.
  bool divide_by_all = true;
};

// For ranks with different numbers of batches. Every rank makes one before its loop and calls finish() after
// it: a rank that has run out then takes part in the others' communication until all have, and gets the model
// they ended with. Destroying it without finish(), as an exception does, only ends the mode here.
class [[nodiscard]] Join {
 public:
  Join(std::shared_ptr<DdpCore> core, const JoinRule& options);
  ~Join();
  Join(const Join&) = delete;
  Join& operator=(const Join&) = delete;
  void finish();

 private:
  std::shared_ptr<DdpCore> core_;
};

// What a model is made of, by name; a tensor registered twice comes once, under its first name.
struct NamedTensor {
  std::string name;
  torch::Tensor tensor;
};
struct ModelTensors {
  std::vector<NamedTensor> parameters, buffers;
};

ModelTensors tensors_of_model(torch::nn::Module& model);
ModelTensors tensors_of_model(torch::jit::Module& model);

// The same things for every kind of model. Users hold a DistributedDataParallel.
std::shared_ptr<DdpCore> make_ddp_core(ModelTensors, Communicator&, const DdpOptions&);
void before_forward(DdpCore&, const std::vector<torch::Tensor>& inputs);
void after_forward(DdpCore&, const std::vector<torch::Tensor>& outputs);
std::vector<torch::Tensor> parameters(const DdpCore&);
std::vector<Bucket> buckets(const DdpCore&);  // indices are those of parameters() that have requires_grad
void zero_grad(DdpCore&);
double clip_grad_norm(DdpCore&, double max_norm, double norm_type);
void set_trace(DdpCore&, Recorder*);
std::vector<std::string> gradient_order(DdpCore&);
void restore_gradient_order(DdpCore&, const std::vector<std::string>&);

// How each kind of model is held, moved and called.
template <typename Model>
struct ModelAccess {
  using Handle = std::shared_ptr<Model>;
  static ModelTensors tensors(Handle& model) { return tensors_of_model(*model); }
  static void move(Handle& model, torch::Device device) { model->to(device); }
  template <typename... Inputs>
  static auto call(Handle& model, Inputs&&... inputs) {
    return model->forward(std::forward<Inputs>(inputs)...);
  }
};

template <>
struct ModelAccess<torch::nn::AnyModule> {
  using Handle = torch::nn::AnyModule;
  static ModelTensors tensors(Handle& model) { return tensors_of_model(*model.ptr()); }
  static void move(Handle& model, torch::Device device) { model.ptr()->to(device); }
  template <typename... Inputs>
  static torch::Tensor call(Handle& model, Inputs&&... inputs) {
    return model.forward<torch::Tensor>(std::forward<Inputs>(inputs)...);
  }
};

template <>
struct ModelAccess<torch::jit::Module> {
  using Handle = torch::jit::Module;
  static ModelTensors tensors(Handle& model) { return tensors_of_model(model); }
  static void move(Handle& model, torch::Device device) { model.to(device); }
  static torch::jit::IValue call(Handle& model, std::vector<torch::jit::IValue> inputs) {
    return model.forward(std::move(inputs));
  }
};

template <typename Model>
class DistributedDataParallel {
 public:
  using Access = ModelAccess<Model>;
  using Handle = typename Access::Handle;

  // Every rank makes one with the same options. Throws ConfigError, on every rank, when the models differ,
  // and naming the tensor when one is not on `options.device`.
  DistributedDataParallel(Handle model, Communicator& communicator, const DdpOptions& options = {})
      : model_(std::move(model)) {
    if (options.move_to_device) Access::move(model_, options.device);
    core_ = make_ddp_core(Access::tensors(model_), communicator, options);
  }

  // A holder, such as torch::nn::Linear.
  template <typename Holder>
  requires(!std::same_as<Holder, Handle> &&
           requires(const Holder& holder) {
             { holder.ptr() } -> std::convertible_to<Handle>;
           }) DistributedDataParallel(const Holder& holder, Communicator& communicator,
                                      const DdpOptions& options = {})
      : DistributedDataParallel(Handle(holder.ptr()), communicator, options) {}

  // What the model's own forward takes and gives. With gradients switched off it is that and nothing more.
  template <typename... Inputs>
  auto forward(Inputs&&... inputs) {
    before_forward(*core_, tensors_in(inputs...));
    auto outputs = Access::call(model_, std::forward<Inputs>(inputs)...);
    after_forward(*core_, tensors_in(outputs));
    return outputs;
  }

  NoSync no_sync() { return NoSync(core_); }
  Join join(const JoinRule& options = {}) { return Join(core_, options); }

  Handle& module() { return model_; }
  auto* operator->() { return &*model_; }
  std::vector<torch::Tensor> parameters() const { return gradwire::parameters(*core_); }
  std::vector<Bucket> buckets() const { return gradwire::buckets(*core_); }

  // Forgets the gradients: faster than an optimizer's zero_grad(), which writes zeros that backward then
  // reads. Both are right, and so is setting gradients to undefined.
  void zero_grad() { gradwire::zero_grad(*core_); }

  // After backward: scales all gradients so that their common norm is at most `max_norm`, and gives the norm
  // before; the same on every rank, to the last bit. All ranks call it.
  double clip_grad_norm(double max_norm, double norm_type = 2) {
    return gradwire::clip_grad_norm(*core_, max_norm, norm_type);
  }

  void set_trace(Recorder* trace) { gradwire::set_trace(*core_, trace); }

  // The order of gradients that the ranks have agreed on in their first backward, by name: how buckets are cut, and with it
  // how sums are rounded. For TrainingPosition (loop/checkpoint.h); given back after loading, on all ranks, a resumed run
  // is equal to the bit. An order of other parameters is ignored.
  std::vector<std::string> gradient_order() const { return gradwire::gradient_order(*core_); }
  void restore_gradient_order(const std::vector<std::string>& order) {
    gradwire::restore_gradient_order(*core_, order);
  }

 private:
  Handle model_;
  std::shared_ptr<DdpCore> core_;
};

template <typename Model>
DistributedDataParallel(std::shared_ptr<Model>, Communicator&) -> DistributedDataParallel<Model>;
template <typename Model>
DistributedDataParallel(std::shared_ptr<Model>, Communicator&, DdpOptions) -> DistributedDataParallel<Model>;
template <typename Model>
DistributedDataParallel(torch::nn::ModuleHolder<Model>, Communicator&) -> DistributedDataParallel<Model>;
template <typename Model>
DistributedDataParallel(torch::nn::ModuleHolder<Model>, Communicator&, DdpOptions)
    -> DistributedDataParallel<Model>;
DistributedDataParallel(torch::nn::AnyModule, Communicator&)->DistributedDataParallel<torch::nn::AnyModule>;
DistributedDataParallel(torch::nn::AnyModule, Communicator&, DdpOptions)
    ->DistributedDataParallel<torch::nn::AnyModule>;
DistributedDataParallel(torch::jit::Module, Communicator&)->DistributedDataParallel<torch::jit::Module>;
DistributedDataParallel(torch::jit::Module, Communicator&, DdpOptions)
    ->DistributedDataParallel<torch::jit::Module>;

}  // namespace gradwire
