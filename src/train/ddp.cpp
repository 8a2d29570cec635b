#include "train/ddp.h"

#include "train/ddp_core.h"

namespace gradwire {

NoSync::NoSync(std::shared_ptr<DdpCore> core) : core_(std::move(core)) { core_->push_no_sync(); }
NoSync::~NoSync() { core_->pop_no_sync(); }

Join::Join(std::shared_ptr<DdpCore> core, const JoinRule& options) : core_(std::move(core)) {
  core_->begin_join(options);
}
Join::~Join() { core_->end_join(); }
void Join::finish() { core_->finish_join(); }

std::shared_ptr<DdpCore> make_ddp_core(ModelTensors model, Communicator& communicator,
                                       const DdpOptions& options) {
  return std::make_shared<DdpCore>(std::move(model), communicator, options);
}

void before_forward(DdpCore& core, const std::vector<torch::Tensor>& inputs) { core.before_forward(inputs); }
void after_forward(DdpCore& core, const std::vector<torch::Tensor>& outputs) { core.after_forward(outputs); }

std::vector<torch::Tensor> parameters(const DdpCore& core) {
  std::vector<torch::Tensor> result;
  for (const auto& parameter : core.model().parameters) result.push_back(parameter.tensor);
  return result;
}

std::vector<Bucket> buckets(const DdpCore& core) { return core.reducer().buckets(); }

void zero_grad(DdpCore& core) {
  for (const auto& parameter : core.model().parameters) parameter.tensor.mutable_grad().reset();
}

void set_trace(DdpCore& core, Recorder* trace) { core.set_trace(trace); }

std::vector<std::string> gradient_order(DdpCore& core) { return core.reducer().order(); }

void restore_gradient_order(DdpCore& core, const std::vector<std::string>& order) {
  core.reducer().restore_order(order);
}

void add_tensors(std::vector<torch::Tensor>& found, const torch::jit::IValue& value) {
  value.visit([&](const torch::jit::IValue& part) {
    if (part.isTensor()) add_tensors(found, part.toTensor());
    return false;  // look inside
  });
}

}  // namespace gradwire
