// One rank of the training benchmark: three workloads, with DistributedDataParallel and without, a block of
// steps at a time. bench/ddp_compare starts the ranks, and those of PyTorch, and lets them take turns.
//
//   ddp_bench WORKLOAD [BACKEND]     mlp, cnn or gpt; the environment is that of `gradwire run`
//
// Reads lines "MODE STEPS" and answers each with one line of the steps' milliseconds. MODE is plain (no
// communication), ddp, ddp_forget (the same with ddp.zero_grad() instead of the optimizer's), ddp_after
// (buckets are reduced after backward), shard1, shard2, shard3 (ShardedDataParallel's stages, with zero_grad()
// of its own) or shard3_copy (stage 3 without views).
#include <chrono>
#include <cmath>
#include <iostream>
#include <map>

#include "base/error.h"
#include "comm/make.h"
#include "net/rendezvous/rendezvous.h"
#include "train/ddp.h"
#include "train/sharded/sharded.h"

using namespace gradwire;
namespace F = torch::nn::functional;

namespace {

struct Workload : torch::nn::Module {
  virtual torch::Tensor loss(const torch::Tensor& input, const torch::Tensor& target) = 0;
  virtual std::pair<torch::Tensor, torch::Tensor> batch() const = 0;
  torch::Tensor forward(torch::Tensor input, torch::Tensor target) { return loss(input, target); }
};

// 1024-2304-2304-1024, 10.03 million parameters, batch 64.
struct Mlp final : Workload {
  Mlp() {
    const int widths[] = {1024, 2304, 2304, 1024};
    for (int i = 0; i < 3; ++i) {
      layers->push_back(torch::nn::Linear(widths[i], widths[i + 1]));
      if (i < 2) layers->push_back(torch::nn::ReLU());
    }
    register_module("layers", layers);
  }
  torch::Tensor loss(const torch::Tensor& input, const torch::Tensor& target) override {
    return F::mse_loss(layers->forward(input), target);
  }
  std::pair<torch::Tensor, torch::Tensor> batch() const override {
    return {torch::randn({64, 1024}), torch::randn({64, 1024})};
  }
  torch::nn::Sequential layers;
};

// The network of PyTorch's MNIST example, 1.20 million parameters, batch 64.
struct Cnn final : Workload {
  torch::Tensor loss(const torch::Tensor& input, const torch::Tensor& target) override {
    auto x = torch::relu(conv2(torch::relu(conv1(input))));
    x = torch::dropout(torch::max_pool2d(x, 2), 0.25, is_training()).flatten(1);
    x = fc2(torch::dropout(torch::relu(fc1(x)), 0.5, is_training()));
    return torch::nll_loss(torch::log_softmax(x, 1), target);
  }
  std::pair<torch::Tensor, torch::Tensor> batch() const override {
    return {torch::randn({64, 1, 28, 28}), torch::randint(10, {64}, torch::kInt64)};
  }
  torch::nn::Conv2d conv1 = register_module("conv1", torch::nn::Conv2d(1, 32, 3));
  torch::nn::Conv2d conv2 = register_module("conv2", torch::nn::Conv2d(32, 64, 3));
  torch::nn::Linear fc1 = register_module("fc1", torch::nn::Linear(9216, 128));
  torch::nn::Linear fc2 = register_module("fc2", torch::nn::Linear(128, 10));
};

constexpr int kWidth = 256, kContext = 128, kHeads = 4, kWords = 1024;

struct Block : torch::nn::Module {
  torch::Tensor forward(const torch::Tensor& x, const torch::Tensor& mask) {
    const auto batch = x.size(0), length = x.size(1);
    const auto heads =
        qkv(norm1(x)).view({batch, length, 3, kHeads, kWidth / kHeads}).permute({2, 0, 3, 1, 4});
    const auto scores =
        torch::matmul(heads[0], heads[1].transpose(-2, -1)) / std::sqrt(kWidth / kHeads) + mask;
    const auto mixed = torch::matmul(torch::softmax(scores, -1), heads[2]);
    const auto y = x + out(mixed.transpose(1, 2).reshape({batch, length, kWidth}));
    return y + down(torch::gelu(up(norm2(y))));
  }
  torch::nn::LayerNorm norm1 =
      register_module("norm1", torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})));
  torch::nn::LayerNorm norm2 =
      register_module("norm2", torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})));
  torch::nn::Linear qkv = register_module("qkv", torch::nn::Linear(kWidth, 3 * kWidth));
  torch::nn::Linear out = register_module("out", torch::nn::Linear(kWidth, kWidth));
  torch::nn::Linear up = register_module("up", torch::nn::Linear(kWidth, 4 * kWidth));
  torch::nn::Linear down = register_module("down", torch::nn::Linear(4 * kWidth, kWidth));
};

// Four layers of width 256 on 128 words, 3.72 million parameters, batch 8.
struct Gpt final : Workload {
  Gpt() {
    for (int i = 0; i < 4; ++i)
      blocks.push_back(register_module("block" + std::to_string(i), std::make_shared<Block>()));
  }
  torch::Tensor loss(const torch::Tensor& input, const torch::Tensor& target) override {
    auto x = words(input) + positions(torch::arange(kContext));
    for (const auto& block : blocks) x = block->forward(x, mask);
    return F::cross_entropy(head(norm(x)).view({-1, kWords}), target.view({-1}));
  }
  std::pair<torch::Tensor, torch::Tensor> batch() const override {
    return {torch::randint(kWords, {8, kContext}, torch::kInt64),
            torch::randint(kWords, {8, kContext}, torch::kInt64)};
  }
  torch::Tensor mask = torch::full({kContext, kContext}, -INFINITY).triu(1);
  torch::nn::Embedding words = register_module("words", torch::nn::Embedding(kWords, kWidth));
  torch::nn::Embedding positions = register_module("positions", torch::nn::Embedding(kContext, kWidth));
  torch::nn::LayerNorm norm =
      register_module("norm", torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})));
  torch::nn::Linear head =
      register_module("head", torch::nn::Linear(torch::nn::LinearOptions(kWidth, kWords).bias(false)));
  std::vector<std::shared_ptr<Block>> blocks;
};

std::shared_ptr<Workload> make_workload(const std::string& name) {
  if (name == "mlp") return std::make_shared<Mlp>();
  if (name == "cnn") return std::make_shared<Cnn>();
  if (name == "gpt") return std::make_shared<Gpt>();
  throw ConfigError(fmt::format("'{}' is not a workload: there are mlp, cnn and gpt", name));
}

// A stage of sharding and its optimizer.
struct Shards {
  Shards(std::shared_ptr<Workload> model, Communicator& communicator, const std::string& mode)
      : sharded(std::move(model), communicator, {.stage = mode[5] - '0', .views = mode != "shard3_copy"}),
        optimizer(sharded.parameters(), 0.01) {}
  ShardedDataParallel<Workload> sharded;
  torch::optim::SGD optimizer;
};

class Trainer {
 public:
  Trainer(const std::string& workload, Communicator& communicator)
      : workload_(workload),
        communicator_(communicator),
        plain_(make_workload(workload)),
        ddp_(make_workload(workload), communicator),
        after_(make_workload(workload), communicator, {.overlap = Overlap::after_backward}) {
    std::tie(input_, target_) = plain_->batch();
  }

  double step(const std::string& mode) {
    Shards* const shards = mode.starts_with("shard") ? &shards_for(mode) : nullptr;
    const auto begin = std::chrono::steady_clock::now();
    if (shards)
      train_shards(*shards);
    else if (mode == "plain")
      train(*plain_, plain_optimizer_);
    else if (mode == "ddp_after")
      train(after_, after_optimizer_);
    else
      train(ddp_, ddp_optimizer_, mode == "ddp_forget");
    return std::chrono::duration<double, std::milli>(std::chrono::steady_clock::now() - begin).count();
  }

 private:
  template <typename Model>
  void train(Model& model, torch::optim::SGD& optimizer, bool forget = false) {
    forget ? ddp_.zero_grad() : optimizer.zero_grad();
    model.forward(input_, target_).backward();
    optimizer.step();
  }

  // All ranks are given the same modes, so all make it at the same place.
  Shards& shards_for(const std::string& mode) {
    auto& found = shards_[mode];
    if (!found) found = std::make_unique<Shards>(make_workload(workload_), communicator_, mode);
    return *found;
  }

  void train_shards(Shards& shards) {
    shards.sharded.zero_grad();
    shards.sharded.forward(input_, target_).backward();
    shards.optimizer.step();
  }

  const std::string workload_;
  Communicator& communicator_;
  std::map<std::string, std::unique_ptr<Shards>> shards_;
  std::shared_ptr<Workload> plain_;
  DistributedDataParallel<Workload> ddp_, after_;
  torch::optim::SGD plain_optimizer_{plain_->parameters(), 0.01}, ddp_optimizer_{ddp_.parameters(), 0.01},
      after_optimizer_{after_.parameters(), 0.01};
  torch::Tensor input_, target_;
};

void serve(Trainer& trainer) {
  std::string mode;
  for (int steps = 0; std::cin >> mode >> steps;) {
    std::string line;
    for (int i = 0; i < steps; ++i) line += fmt::format("{:.4f} ", trainer.step(mode));
    std::cout << line << std::endl;
  }
}

}  // namespace

int main(int argc, char** argv) {
  try {
    if (argc != 2 && argc != 3) throw ConfigError("usage: ddp_bench mlp|cnn|gpt [BACKEND]");
    torch::set_num_threads(1);
    const auto world = join();
    const auto communicator = make_communicator(world, argc == 3 ? argv[2] : "auto");
    Trainer trainer(argv[1], *communicator);
    serve(trainer);
    leave(world);
    return 0;
  } catch (const std::exception& error) {
    std::cerr << "ddp_bench: " << error.what() << "\n";
    return 1;
  }
}
