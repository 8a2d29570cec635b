// PowerSGD. For each matrix M of a bucket (a gradient of n rows, its other dimensions flattened to m
// columns), with the error E of the last step added first:
//   P = M Q, averaged over the ranks; its columns made orthonormal      n x r
//   Q = M' P, averaged                                                  m x r, kept as the next step's guess
//   the gradient becomes P Q', and E = M - P Q'
// All P's of a bucket travel as one message, then all Q's; what is not compressed travels with the P's.
#include <map>

#include <ATen/CPUGeneratorImpl.h>

#include "base/error.h"
#include "train/comm_hook.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

struct Matrix {
  torch::Tensor gradient;  // as n x m, a view of the bucket
  torch::Tensor error;     // what earlier steps left out
  torch::Tensor p, q;      // parts of the messages
};

// What a bucket needs from step to step.
struct BucketState {
  std::int64_t elements = 0;  // of the bucket, to notice that it was laid out anew
  std::vector<Matrix> matrices;
  std::vector<torch::Tensor> plain, plain_parts;  // gradients not compressed, and their places in the message
  torch::Tensor p_message, q_message;
};

void average(Communicator& communicator, torch::Tensor& message) {
  if (message.numel() != 0) all_reduce(communicator, message, Reduction::avg);
}

// Gram-Schmidt, one column after the other: r is small, and the result is the same bits on every rank.
void orthonormalize(torch::Tensor& matrix) {
  const auto columns = matrix.size(1);
  const double tiny = matrix.scalar_type() == torch::kFloat64 ? 1e-16 : 1e-8;
  for (std::int64_t i = 0; i < columns; ++i) {
    auto column = matrix.select(1, i);
    column.div_(column.norm() + tiny);
    if (i + 1 == columns) break;
    auto rest = matrix.narrow(1, i + 1, columns - i - 1);
    rest.sub_(torch::outer(column, torch::mv(rest.t(), column)));
  }
}

class PowerWork final : public BucketWork {
 public:
  PowerWork(std::unique_ptr<Work> first, BucketState& state, Communicator& communicator)
      : first_(std::move(first)), state_(state), communicator_(communicator) {}

  void finish() override {
    first_->wait();
    for (std::size_t i = 0; i < state_.plain.size(); ++i) state_.plain[i].copy_(state_.plain_parts[i]);
    for (auto& matrix : state_.matrices) {
      orthonormalize(matrix.p);
      torch::mm_out(matrix.q, matrix.gradient.t(), matrix.p);
    }
    average(communicator_, state_.q_message);
    for (auto& matrix : state_.matrices) {
      matrix.error.copy_(matrix.gradient);
      torch::mm_out(matrix.gradient, matrix.p, matrix.q.t());
      matrix.error.sub_(matrix.gradient);
    }
  }
  std::optional<WorkTimes> times() const override { return first_->times(); }

 private:
  const std::unique_ptr<Work> first_;
  BucketState& state_;
  Communicator& communicator_;
};

class PowerSgdHook final : public CommHook {
 public:
  explicit PowerSgdHook(const PowerSgdOptions& options) : options_(options), average_(make_average_hook()) {
    if (options.rank < 1 || options.start_step < 0 || options.min_compression < 1)
      throw ConfigError(fmt::format(
          "PowerSGD: rank {} must be at least 1, start_step {} at least 0, min_compression {} at least 1",
          options.rank, options.start_step, options.min_compression));
  }

  std::unique_ptr<BucketWork> start(const GradBucket& bucket, Communicator& communicator) override {
    const bool plain = step_ < options_.start_step;
    if (bucket.last) ++step_;
    if (plain) return average_->start(bucket, communicator);
    auto& state = state_of(bucket, communicator);
    for (auto& matrix : state.matrices) {
      matrix.gradient.add_(matrix.error);
      torch::mm_out(matrix.p, matrix.gradient, matrix.q);
    }
    for (std::size_t i = 0; i < state.plain.size(); ++i) state.plain_parts[i].copy_(state.plain[i]);
    Call call = all_reduce(memory_of(state.p_message), dtype_of(bucket.flat.scalar_type(), "a gradient"),
                           Reduction::avg);
    call.tag = static_cast<std::uint32_t>(bucket.index) + 1;
    return std::make_unique<PowerWork>(communicator.start(call), state, communicator);
  }

 private:
  bool shrinks(const torch::Tensor& gradient) const {
    if (gradient.dim() < 2 || gradient.numel() == 0 || !gradient.is_contiguous()) return false;
    const auto n = gradient.size(0), m = gradient.numel() / gradient.size(0);
    return static_cast<double>((n + m) * options_.rank) * options_.min_compression <=
           static_cast<double>(n * m);
  }

  BucketState& state_of(const GradBucket& bucket, Communicator& communicator) {
    auto& state = states_[bucket.index];
    if (state.elements != bucket.flat.numel()) state = make_state(bucket, communicator);
    return state;
  }

  BucketState make_state(const GradBucket& bucket, Communicator& communicator) const;
  void cut_messages(BucketState& state) const;

  const PowerSgdOptions options_;
  const std::shared_ptr<CommHook> average_;
  std::map<int, BucketState> states_;  // by bucket
  int step_ = 0;
};

BucketState PowerSgdHook::make_state(const GradBucket& bucket, Communicator& communicator) const {
  BucketState state;
  state.elements = bucket.flat.numel();
  std::int64_t p = 0, q = 0;
  for (const auto& gradient : bucket.gradients) {
    if (!shrinks(gradient)) {
      state.plain.push_back(gradient);
      p += gradient.numel();
      continue;
    }
    auto matrix = gradient.view({gradient.size(0), -1});
    p += matrix.size(0) * options_.rank;
    q += matrix.size(1) * options_.rank;
    state.matrices.push_back({matrix, torch::zeros_like(matrix), {}, {}});
  }
  state.p_message = allocate_tensor(communicator, p, bucket.flat.options());
  state.q_message = allocate_tensor(communicator, q, bucket.flat.options());
  auto generator = at::detail::createCPUGenerator(options_.seed + static_cast<std::uint64_t>(bucket.index));
  state.q_message.copy_(torch::randn({q}, generator));
  cut_messages(state);
  return state;
}

void PowerSgdHook::cut_messages(BucketState& state) const {
  std::int64_t p = 0, q = 0;
  const auto cut = [](torch::Tensor& message, std::int64_t& at, std::int64_t count) {
    at += count;
    return message.narrow(0, at - count, count);
  };
  for (auto& matrix : state.matrices) {
    const auto n = matrix.gradient.size(0), m = matrix.gradient.size(1);
    matrix.p = cut(state.p_message, p, n * options_.rank).view({n, options_.rank});
    matrix.q = cut(state.q_message, q, m * options_.rank).view({m, options_.rank});
  }
  for (const auto& gradient : state.plain)
    state.plain_parts.push_back(cut(state.p_message, p, gradient.numel()).view(gradient.sizes()));
}

}  // namespace

std::shared_ptr<CommHook> make_power_sgd_hook(const PowerSgdOptions& options) {
  return std::make_shared<PowerSgdHook>(options);
}

}  // namespace gradwire
