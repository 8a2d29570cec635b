#include "train/pipeline/recompute.h"

#include <ATen/Context.h>

namespace gradwire {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

torch::Tensor generator_state(torch::Device device) {
  auto generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  return generator.get_state();
}

void set_generator_state(torch::Device device, const torch::Tensor& state) {
  auto generator = at::globalContext().defaultGenerator(device);
  const std::lock_guard<std::mutex> lock(generator.mutex());
  generator.set_state(state);
}

struct PartToRepeat : torch::CustomClassHolder {
  explicit PartToRepeat(PartForward call) : forward(std::move(call)) {}
  const PartForward forward;
};

// The parameters are inputs of the node, so that their gradients go the usual way; the inner graph only says what
// they are.
class Recomputed : public torch::autograd::Function<Recomputed> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input,
                               at::TensorList parameters, const c10::intrusive_ptr<PartToRepeat>& part) {
    variable_list saved{input};
    saved.insert(saved.end(), parameters.begin(), parameters.end());
    context->save_for_backward(saved);
    context->saved_data["part"] = c10::IValue::make_capsule(part);
    context->saved_data["generator"] = generator_state(torch::kCPU);
    if (!input.is_cpu()) context->saved_data["device generator"] = generator_state(input.device());
    return part->forward(input);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto part =
        c10::static_intrusive_pointer_cast<PartToRepeat>(context->saved_data["part"].toCapsule());
    const bool wants_input = saved[0].requires_grad();
    const torch::AutoGradMode grad(true);
    const auto input = saved[0].detach().requires_grad_(wants_input);
    const auto output = again(*part, input, *context);
    variable_list wanted(saved.begin() + 1, saved.end());
    if (wants_input) wanted.insert(wanted.begin(), input);
    auto result = torch::autograd::grad({output}, wanted, {gradients[0]}, /*retain_graph=*/false,
                                        /*create_graph=*/false, /*allow_unused=*/true);
    if (!wants_input) result.insert(result.begin(), torch::Tensor());
    result.emplace_back();  // of the part itself
    return result;
  }

 private:
  static torch::Tensor again(const PartToRepeat& part, const torch::Tensor& input, AutogradContext& context) {
    const KeptGenerator kept(torch::kCPU);
    set_generator_state(torch::kCPU, context.saved_data["generator"].toTensor());
    if (input.is_cpu()) return part.forward(input);
    const KeptGenerator kept_on_device(input.device());
    set_generator_state(input.device(), context.saved_data["device generator"].toTensor());
    return part.forward(input);
  }
};

}  // namespace

KeptGenerator::KeptGenerator(torch::Device device) : device_(device), state_(generator_state(device)) {}
KeptGenerator::~KeptGenerator() { set_generator_state(device_, state_); }

torch::Tensor recompute(PartForward forward, const torch::Tensor& input,
                        const std::vector<torch::Tensor>& parameters) {
  if (!torch::GradMode::is_enabled()) return forward(input);
  return Recomputed::apply(input, at::TensorList(parameters),
                           c10::make_intrusive<PartToRepeat>(std::move(forward)));
}

}  // namespace gradwire
