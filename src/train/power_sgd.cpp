// PowerSGD. For each matrix M of a bucket (a gradient of n rows, its other dimensions flattened to m
// columns), with the error E of the last step added first:
//   P = M Q, averaged over the ranks; its columns made orthonormal      n x r
//   Q = M' P, averaged                                                  m x r, kept as the next step's guess
//   the gradient becomes P Q', and E = M - P Q'
// All P's of a bucket travel as one message, then all Q's; what is not compressed travels with the P's.
//
// E and Q are kept by parameter: buckets may be laid out anew, also by a run that goes on from a checkpoint. E is each rank's
// own, Q the same on all. What is added to the average in the next step is the mean of all E.
#include <algorithm>
#include <map>

#include <ATen/CPUGeneratorImpl.h>

#include "base/error.h"
#include "base/text.h"
#include "train/comm_hook.h"
#include "train/tensor_bytes.h"

namespace gradwire {
namespace {

struct Matrix {
  int parameter = 0;
  torch::Tensor gradient;  // as n x m, a view of the bucket
  torch::Tensor error;     // what earlier steps left out
  torch::Tensor p, q;      // parts of the messages
};

// What a bucket needs from step to step.
struct BucketState {
  std::vector<int> parameters;  // of the bucket, and where it lies: to notice that it was laid out anew
  const void* place = nullptr;
  std::vector<Matrix> matrices;
  std::vector<torch::Tensor> plain, plain_parts;  // gradients not compressed, and their places in the message
  torch::Tensor p_message, q_message;
};

// E and Q of a matrix that is in no bucket now.
struct Learnt {
  torch::Tensor error, guess;
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

// The number in "7.error".
int parameter_in(const std::string& name, std::string_view what) {
  const auto number = name.ends_with(what)
                          ? find_integer<int>(std::string_view(name).substr(0, name.size() - what.size()))
                          : std::nullopt;
  if (!number || *number < 0) throw ConfigError(fmt::format("'{}' was not saved by PowerSGD", name));
  return *number;
}

class PowerSgdHook final : public KeepingHook {
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

  HookState state() const override {
    HookState kept{.shared = {{"steps", torch::tensor(step_)}}, .own = {}};
    const auto keep = [&](int parameter, const Learnt& learnt) {
      kept.own[fmt::format("{}.error", parameter)] = learnt.error;
      kept.shared[fmt::format("{}.guess", parameter)] = learnt.guess;
    };
    for (const auto& [bucket, state] : states_)
      for (const auto& matrix : state.matrices) keep(matrix.parameter, {matrix.error, matrix.q});
    for (const auto& [parameter, learnt] : learnt_) keep(parameter, learnt);
    return kept;
  }

  void restore(const HookState& kept) override {
    const auto steps = kept.shared.find("steps");
    std::map<int, Learnt> learnt;
    for (const auto& [name, error] : kept.own) learnt[parameter_in(name, ".error")].error = error;
    for (const auto& [name, guess] : kept.shared)
      if (name != "steps") learnt[parameter_in(name, ".guess")].guess = guess;
    for (const auto& [parameter, of_one] : learnt)
      if (!of_one.error.defined() || !of_one.guess.defined() || of_one.guess.dim() != 2 ||
          of_one.guess.size(1) != options_.rank)
        throw ConfigError(
            fmt::format("PowerSGD: what was saved of parameter number {} is not of matrices of rank {}",
                        parameter, options_.rank));
    if (steps == kept.shared.end() || steps->second.numel() != 1)
      throw ConfigError("PowerSGD: what was saved does not say of how many steps it is");
    step_ = steps->second.item<std::int64_t>();
    learnt_ = std::move(learnt);
    states_.clear();
  }

 private:
  bool shrinks(const torch::Tensor& gradient) const {
    if (gradient.dim() < 2 || gradient.numel() == 0 || !gradient.is_contiguous()) return false;
    const auto n = gradient.size(0), m = gradient.numel() / gradient.size(0);
    return static_cast<double>((n + m) * options_.rank) * options_.min_compression <=
           static_cast<double>(n * m);
  }

  BucketState& state_of(const GradBucket& bucket, Communicator& communicator) {
    const auto found = states_.find(bucket.index);
    if (found != states_.end() && found->second.place == bucket.flat.data_ptr() &&
        std::ranges::equal(found->second.parameters, bucket.parameters))
      return found->second;
    put_aside(bucket.index);
    return states_[bucket.index] = make_state(bucket, communicator);
  }

  void put_aside(int first);
  BucketState make_state(const GradBucket& bucket, Communicator& communicator);
  void cut_messages(BucketState& state) const;
  void begin(Matrix& matrix);

  const PowerSgdOptions options_;
  const std::shared_ptr<CommHook> average_;
  std::map<int, BucketState> states_;  // by bucket
  std::map<int, Learnt> learnt_;       // by parameter: of those that no state has
  std::int64_t step_ = 0;
};

// Of this bucket and those after it: buckets before it have been started with what they have.
void PowerSgdHook::put_aside(int first) {
  for (auto place = states_.lower_bound(first); place != states_.end(); place = states_.erase(place))
    for (const auto& matrix : place->second.matrices)
      learnt_[matrix.parameter] = {matrix.error, matrix.q.clone()};
}

BucketState PowerSgdHook::make_state(const GradBucket& bucket, Communicator& communicator) {
  BucketState state;
  state.parameters.assign(bucket.parameters.begin(), bucket.parameters.end());
  state.place = bucket.flat.data_ptr();
  std::int64_t p = 0, q = 0;
  for (std::size_t i = 0; i < bucket.gradients.size(); ++i) {
    const auto& gradient = bucket.gradients[i];
    if (!shrinks(gradient)) {
      state.plain.push_back(gradient);
      p += gradient.numel();
      continue;
    }
    auto matrix = gradient.view({gradient.size(0), -1});
    p += matrix.size(0) * options_.rank;
    q += matrix.size(1) * options_.rank;
    state.matrices.push_back({bucket.parameters[i], matrix, torch::zeros_like(matrix), {}, {}});
  }
  state.p_message = allocate_tensor(communicator, p, bucket.flat.options());
  state.q_message = allocate_tensor(communicator, q, bucket.flat.options());
  cut_messages(state);
  for (auto& matrix : state.matrices) begin(matrix);
  return state;
}

// With what was learnt of it, or with no error and a guess that is the same on every rank.
void PowerSgdHook::begin(Matrix& matrix) {
  const auto learnt = learnt_.extract(matrix.parameter);
  if (learnt.empty()) {
    // By its shape: numbers change with where a model is cut into stages, which a run that goes on may do elsewhere.
    const auto shape = matrix.gradient.size(0) * 65537 + matrix.gradient.size(1);
    auto generator = at::detail::createCPUGenerator(options_.seed + static_cast<std::uint64_t>(shape));
    matrix.q.copy_(torch::randn(matrix.q.sizes(), generator));
    return;
  }
  const auto& [error, guess] = learnt.mapped();
  if (error.sizes() != matrix.error.sizes() || guess.sizes() != matrix.q.sizes())
    throw ConfigError(
        fmt::format("PowerSGD: what was saved of parameter number {} is of another shape", matrix.parameter));
  matrix.error.copy_(error);
  matrix.q.copy_(guess);
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

std::shared_ptr<KeepingHook> make_power_sgd_hook(const PowerSgdOptions& options) {
  return std::make_shared<PowerSgdHook>(options);
}

}  // namespace gradwire
