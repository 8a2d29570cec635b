#include "train/gradient_hooks.h"

#include <torch/csrc/autograd/function_hook.h>

#include "base/error.h"

namespace gradwire {
namespace {

using torch::autograd::variable_list;

// torch's own LambdaPostHook has changed its constructor from version to version.
class AfterGradient final : public torch::autograd::FunctionPostHook {
 public:
  explicit AfterGradient(std::function<void()> call) : call_(std::move(call)) {}
  variable_list operator()(const variable_list& outputs, const variable_list&) override {
    call_();
    return outputs;
  }

 private:
  const std::function<void()> call_;
};

}  // namespace

GradientHooks::~GradientHooks() {
  for (std::size_t i = 0; i < nodes_.size(); ++i) nodes_[i]->del_post_hook(keys_[i]);
}

void GradientHooks::add(const NamedTensor& parameter, std::function<void()> call) {
  const auto node = torch::autograd::impl::grad_accumulator(parameter.tensor);
  for (const auto& hook : node->post_hooks())
    if (dynamic_cast<const AfterGradient*>(hook.get()) != nullptr)
      throw ConfigError(
          fmt::format("parameter {} belongs to another wrapper (DistributedDataParallel or "
                      "ShardedDataParallel), which still lives: two would send its gradient twice; destroy "
                      "the first, or use it",
                      parameter.name));
  keys_.push_back(node->add_post_hook(std::make_unique<AfterGradient>(std::move(call))));
  nodes_.push_back(node);
}

}  // namespace gradwire
