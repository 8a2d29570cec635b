#include "train/sharded/sharded_core.h"

#include <algorithm>
#include <cmath>
#include <map>

#include "base/error.h"
#include "train/placement_check.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

void check_shard_options(const ShardOptions& options) {
  if (options.stage < 1 || options.stage > 3)
    throw ConfigError(
        fmt::format("stage {} of sharding: there are 1 (optimizer), 2 (and gradients), 3 (and parameters)",
                    options.stage));
  if (options.compute_type && *options.compute_type != torch::kBFloat16 &&
      *options.compute_type != torch::kFloat16)
    throw ConfigError(fmt::format("a compute type of {}: there are bfloat16 and float16",
                                  c10::toString(*options.compute_type)));
}

void cast_buffers(const ModelTensors& model, torch::ScalarType type) {
  for (const auto& [name, buffer] : model.buffers)
    if (buffer.is_floating_point()) buffer.set_data(buffer.to(type));
}

// The whole of what every rank has a share of.
torch::Tensor gathered(const ShardedUnits::Unit& unit, const torch::Tensor& share,
                       Communicator& communicator) {
  auto whole = torch::empty({unit.layout.total()}, share.options().requires_grad(false));
  communicator.run(all_gather(memory_of(share), memory_of(whole), dtype_of(unit.type, "a share")));
  return whole;
}

void add_whole(std::map<std::string, torch::Tensor>& found, const ShardedUnits::Unit& unit,
               const torch::Tensor& share, Communicator& communicator) {
  const auto whole = gathered(unit, share, communicator);
  for (std::size_t i = 0; i < unit.parameters.size(); ++i) {
    const auto& member = unit.layout.members()[i];
    found[unit.parameters[i].name] = whole.narrow(0, member.offset, member.elements).view(unit.shapes[i]);
  }
}

// In the order of the model.
std::vector<NamedTensor> ordered(const ModelTensors& model,
                                 const std::map<std::string, torch::Tensor>& found) {
  std::vector<NamedTensor> result;
  for (const auto& [name, tensor] : model.parameters)
    if (const auto place = found.find(name); place != found.end()) result.push_back({name, place->second});
  return result;
}

// Over all ranks, from what each of its shares' norms is.
double norm_of_shares(ShardedCore& core, const std::vector<torch::Tensor>& gradients, double norm_type) {
  double total = 0;
  for (const auto& gradient : gradients) {
    const double norm = gradient.norm(norm_type).to(torch::kFloat64).item<double>();
    total = std::isinf(norm_type) ? std::max(total, norm) : total + std::pow(norm, norm_type);
  }
  auto shared = torch::tensor(total, torch::kFloat64).to(core.options().device);
  all_reduce(core.communicator(), shared, std::isinf(norm_type) ? Reduction::max : Reduction::sum);
  total = shared.item<double>();
  return std::isinf(norm_type) ? total : std::pow(total, 1 / norm_type);
}

}  // namespace

ShardedCore::ShardedCore(ModelTensors model, Communicator& communicator, const ShardOptions& options)
    : model_(std::move(model)),
      options_(options),
      streams_(make_device_streams(options.device, communicator)),
      trace_(options.trace) {
  check_shard_options(options_);
  DdpOptions placement;
  placement.device = options.device;
  check_placement(model_, placement, communicator);
  agree_on_model(model_, streams_->communicator(), options_.device);
  TensorBroadcast(model_.parameters, streams_->communicator()).from(0);
  if (options_.compute_type) cast_buffers(model_, *options_.compute_type);
  buffers_ = std::make_unique<TensorBroadcast>(model_.buffers, streams_->communicator());
  buffers_->from(0);
  units_ = ShardedUnits::make(model_.parameters, streams_->communicator(),
                              {.stage = options_.stage,
                               .policy = options_.policy,
                               .views = options_.views,
                               .compute_type = options_.compute_type,
                               .device = options_.device});
  reducer_ = std::make_unique<ShardReducer>(*units_, options_.allow_unused);
  set_trace(options_.trace);
  warn_about_this_rank(communicator);
}

void ShardedCore::before_forward(const std::vector<torch::Tensor>& inputs) {
  for (std::size_t i = 0; i < inputs.size(); ++i)
    if (inputs[i].device() != options_.device)
      throw ConfigError(fmt::format("input {} of forward is on {} and the model on {}: write input.to(...)",
                                    i, inputs[i].device().str(), options_.device.str()));
  const bool learns = torch::GradMode::is_enabled();
  if (learns) reducer_->before_forward();
  units_->begin_forward(learns);
  if (options_.allow_unused && options_.stage < 3) units_->use_all();
  if (!learns) return;
  if (!options_.broadcast_buffers || buffers_->empty()) return;
  const Timed timed(trace_, SpanKind::wait, "buffers");
  buffers_->from(0);
}

void ShardedCore::after_forward() { units_->end_forward(); }

void ShardedCore::set_trace(Recorder* trace) {
  trace_ = trace;
  units_->set_trace(trace);
  reducer_->set_trace(trace);
}

ShardedNoSync::ShardedNoSync(std::shared_ptr<ShardedCore> core) : core_(std::move(core)) {
  core_->reducer().push_no_sync();
}
ShardedNoSync::~ShardedNoSync() { core_->reducer().pop_no_sync(); }

std::shared_ptr<ShardedCore> make_sharded_core(ModelTensors model, Communicator& communicator,
                                               const ShardOptions& options) {
  return std::make_shared<ShardedCore>(std::move(model), communicator, options);
}

void before_forward(ShardedCore& core, const std::vector<torch::Tensor>& inputs) {
  core.before_forward(inputs);
}
void after_forward(ShardedCore& core) { core.after_forward(); }

torch::Tensor in_compute_type(const ShardedCore& core, const torch::Tensor& input) {
  const auto type = core.options().compute_type;
  return type && input.defined() && input.is_floating_point() ? input.to(*type) : input;
}

std::vector<torch::Tensor> parameters(const ShardedCore& core) {
  std::vector<torch::Tensor> shares;
  for (const auto& unit : core.units().units())
    if (unit.trainable) shares.push_back(unit.share);
  return shares;
}

std::vector<std::string> unit_names(const ShardedCore& core) {
  std::vector<std::string> names;
  for (const auto& unit : core.units().units())
    if (unit.trainable) names.push_back(unit.name);
  return names;
}

std::vector<NamedTensor> full_parameters(ShardedCore& core) {
  const torch::NoGradGuard no_grad;
  std::map<std::string, torch::Tensor> found;
  for (const auto& unit : core.units().units()) add_whole(found, unit, unit.share, core.communicator());
  return ordered(core.model(), found);
}

std::vector<NamedTensor> full_gradients(ShardedCore& core) {
  const torch::NoGradGuard no_grad;
  std::map<std::string, torch::Tensor> found;
  for (const auto& unit : core.units().units())
    if (unit.share.grad().defined()) add_whole(found, unit, unit.share.grad(), core.communicator());
  return ordered(core.model(), found);
}

std::vector<ParameterPiece> pieces(const ShardedCore& core) {
  std::vector<ParameterPiece> result;
  std::size_t index = 0;
  for (const auto& unit : core.units().units()) {
    for (const auto& piece : unit.layout.pieces(core.communicator().rank())) {
      const auto member = static_cast<std::size_t>(piece.member);
      result.push_back({unit.parameters[member].name,
                        unit.shapes[member],
                        piece.begin,
                        unit.share.detach().narrow(0, piece.at, piece.end - piece.begin),
                        unit.trainable ? static_cast<int>(index) : -1,
                        piece.at,
                        {}});
    }
    if (unit.trainable) ++index;
  }
  return result;
}

torch::Tensor gradient_of(const ParameterPiece& piece, const std::vector<torch::Tensor>& parameters) {
  if (piece.unit < 0) return {};
  const auto& gradient = parameters[static_cast<std::size_t>(piece.unit)].grad();
  if (!gradient.defined()) return {};
  return gradient.view({-1}).narrow(0, piece.at, piece.values.numel());
}

const std::vector<NamedTensor>& buffers(const ShardedCore& core) { return core.model().buffers; }

void zero_grad(ShardedCore& core) { core.reducer().zero_grad(); }

double clip_grad_norm(ShardedCore& core, double max_norm, double norm_type) {
  if (!(max_norm > 0) || !(norm_type > 0))
    throw ConfigError(
        fmt::format("clip_grad_norm: max_norm {} and norm_type {} must be above 0", max_norm, norm_type));
  const torch::NoGradGuard no_grad;
  std::vector<torch::Tensor> gradients;
  for (const auto& share : parameters(core))
    if (share.grad().defined()) gradients.push_back(share.grad());
  const double norm = norm_of_shares(core, gradients, norm_type);
  if (const double factor = max_norm / (norm + 1e-6); factor < 1)
    for (auto& gradient : gradients) gradient.mul_(factor);
  return norm;
}

void step(ShardedCore& core, torch::optim::Optimizer& optimizer) {
  if (dynamic_cast<torch::optim::LBFGS*>(&optimizer) != nullptr)
    throw ConfigError(
        "LBFGS looks at all parameters at once, and a rank has a share of them: use SGD, Adam or AdamW, or "
        "DistributedDataParallel");
  optimizer.step();
  core.units().changed();
}

void parameters_changed(ShardedCore& core) { core.units().changed(); }

ShardMemory memory(const ShardedCore& core) {
  const auto held = core.units().held();
  ShardMemory memory{.parameters = held.shares,
                     .gathered = held.gathered,
                     .gradients = core.reducer().held(),
                     .slots = held.slots,
                     .blocks = core.reducer().blocks()};
  // A share of the parameters' own type lies in its whole unit, and counts once.
  if (core.options().stage < 3 && !core.options().compute_type) memory.gathered -= memory.parameters;
  return memory;
}

void set_trace(ShardedCore& core, Recorder* trace) { core.set_trace(trace); }

}  // namespace gradwire
