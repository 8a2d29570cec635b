// Forward: each rank's count, mean and sum of squared distances from it are gathered and combined in rank
// order with the formula of Chan, Golub and LeVeque, in double precision, so that no digits cancel and ranks
// get the same bits. Backward, with xhat = (x - mean) / std over all N elements of a channel on all ranks:
//   dx = weight / std * (dy - sum(dy) / N - xhat * sum(dy * xhat) / N)
// whose two sums are all-reduced. dweight and dbias stay this rank's own: DistributedDataParallel averages
// them.
#include "train/sync_batch_norm.h"

#include "base/error.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

std::vector<std::int64_t> all_but_channels(const torch::Tensor& input) {
  std::vector<std::int64_t> dimensions{0};
  for (std::int64_t d = 2; d < input.dim(); ++d) dimensions.push_back(d);
  return dimensions;
}

torch::Tensor per_channel(const torch::Tensor& values, const torch::Tensor& input) {
  std::vector<std::int64_t> shape(static_cast<std::size_t>(input.dim()), 1);
  shape[1] = -1;
  return values.view(shape).to(input.scalar_type());
}

struct Moments {
  torch::Tensor mean, variance;  // biased, in double precision
  double count = 0;
};

// Rows of count, means and squared distances of each rank.
Moments combine(const torch::Tensor& ranks, std::int64_t channels) {
  Moments all{torch::zeros({channels}, ranks.options()), torch::zeros({channels}, ranks.options())};
  for (std::int64_t rank = 0; rank < ranks.size(0); ++rank) {
    const double count = ranks[rank][0].item<double>();
    if (count == 0) continue;
    const auto delta = ranks[rank].narrow(0, 1, channels) - all.mean;
    const double total = all.count + count;
    all.mean = all.mean + delta * (count / total);
    all.variance = all.variance + ranks[rank].narrow(0, 1 + channels, channels) +
                   delta * delta * (all.count * count / total);
    all.count = total;
  }
  all.variance = all.variance / all.count;
  return all;
}

Moments global_moments(Communicator& communicator, const torch::Tensor& input) {
  const auto dimensions = all_but_channels(input);
  const auto channels = input.size(1);
  const auto wide = input.to(torch::kFloat64);
  const auto mean = wide.mean(dimensions);
  const auto distance = (wide - per_channel(mean, wide)).square().sum(dimensions);
  const auto count = torch::full({1}, static_cast<double>(input.numel() / channels), wide.options());
  const auto mine = torch::cat({count, mean, distance}).contiguous();
  auto ranks = torch::empty({communicator.size(), mine.numel()}, mine.options());
  communicator.run(all_gather(memory_of(mine), memory_of(ranks), DType::f64));
  return combine(ranks, channels);
}

class Normalize : public torch::autograd::Function<Normalize> {
 public:
  static torch::Tensor forward(AutogradContext* context, const torch::Tensor& input,
                               const torch::Tensor& weight, const torch::Tensor& bias,
                               const torch::Tensor& mean, const torch::Tensor& inverse_std, double count,
                               std::int64_t communicator) {
    const auto normal = (input - per_channel(mean, input)) * per_channel(inverse_std, input);
    context->save_for_backward({normal, weight, inverse_std});
    context->saved_data["count"] = count;
    context->saved_data["communicator"] = communicator;
    if (!weight.defined()) return normal;
    return normal * per_channel(weight, input) + per_channel(bias, input);
  }

  static variable_list backward(AutogradContext* context, variable_list gradients) {
    const auto saved = context->get_saved_variables();
    const auto &normal = saved[0], &weight = saved[1], &inverse_std = saved[2];
    auto& communicator = *reinterpret_cast<Communicator*>(context->saved_data["communicator"].toInt());
    const double count = context->saved_data["count"].toDouble();
    const auto& out = gradients[0];
    const auto dimensions = all_but_channels(normal);
    const auto own_bias = out.to(torch::kFloat64).sum(dimensions);
    const auto own_weight = (out * normal).to(torch::kFloat64).sum(dimensions);
    auto sums = torch::stack({own_bias, own_weight});
    all_reduce(communicator, sums, Reduction::sum);
    auto input = out - per_channel(sums[0] / count, normal) - normal * per_channel(sums[1] / count, normal);
    input = input *
            per_channel(weight.defined() ? weight.to(torch::kFloat64) * inverse_std : inverse_std, normal);
    variable_list result(7);
    result[0] = input;
    if (weight.defined()) {
      result[1] = own_weight.to(weight.scalar_type());
      result[2] = own_bias.to(weight.scalar_type());
    }
    return result;
  }
};

}  // namespace

SyncBatchNormImpl::SyncBatchNormImpl(Communicator& communicator, const SyncBatchNormOptions& settings)
    : NormImplBase(settings), communicator_(&communicator) {}

void SyncBatchNormImpl::_check_input_dim(const torch::Tensor& input) {
  if (input.dim() < 2 || input.size(1) != options.num_features())
    throw ConfigError(fmt::format("SyncBatchNorm of {} channels takes (N, {}, ...), and got {} dimensions{}",
                                  options.num_features(), options.num_features(), input.dim(),
                                  input.dim() < 2 ? "" : fmt::format(" with {} channels", input.size(1))));
}

void SyncBatchNormImpl::pretty_print(std::ostream& stream) const {
  stream << "gradwire::SyncBatchNorm(" << options.num_features() << ")";
}

// Without a momentum the running values are plain averages over all batches.
double SyncBatchNormImpl::momentum() {
  num_batches_tracked += 1;
  return options.momentum() ? *options.momentum() : 1.0 / num_batches_tracked.item<double>();
}

torch::Tensor SyncBatchNormImpl::forward(const torch::Tensor& input) {
  _check_input_dim(input);
  if (!is_training() && running_mean.defined())
    return torch::batch_norm(input, weight, bias, running_mean, running_var, false, 0, options.eps(), false);
  Moments moments;
  {
    const torch::NoGradGuard no_grad;
    moments = global_moments(*communicator_, input);
    if (moments.count < 2)
      throw ConfigError("SyncBatchNorm: one value for each channel on all ranks together has no variance");
    if (is_training() && running_mean.defined()) {
      const double keep = momentum();
      const auto unbiased = moments.variance * (moments.count / (moments.count - 1));
      running_mean.lerp_(moments.mean.to(running_mean.scalar_type()), keep);
      running_var.lerp_(unbiased.to(running_var.scalar_type()), keep);
    }
  }
  return Normalize::apply(input, weight, bias, moments.mean, (moments.variance + options.eps()).rsqrt(),
                          moments.count, reinterpret_cast<std::int64_t>(communicator_));
}

}  // namespace gradwire
