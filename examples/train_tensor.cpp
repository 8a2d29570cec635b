// Tensor parallelism: two ranks share every layer of a small transformer, each with half of the heads, of the linear layers'
// middle and of the vocabulary, and between them each norms and drops out half of the sequence.
//
//   build/examples/train_tensor
#include <gradwire_train.h>

#include <cstdio>

namespace {

constexpr int kWords = 20, kWidth = 16;

// Made whole with one seed on every rank, then split.
struct Layers {
  explicit Layers(gradwire::TensorGroup& group)
      : words(torch::nn::Embedding(kWords, kWidth), group),
        norm(torch::nn::LayerNorm(torch::nn::LayerNormOptions({kWidth})), group),
        attention(gradwire::AttentionOptions{.width = kWidth, .heads = 4}),
        feed_forward(gradwire::FeedForwardOptions{.width = kWidth, .middle = 64}),
        output(torch::nn::Linear(kWidth, kWords), group) {
    attention->split(group);
    feed_forward->split(group);
  }

  torch::Tensor logits(const torch::Tensor& tokens) {
    auto x = words->forward(tokens);
    x = x + attention->forward(norm->forward(x));
    return output->forward(x + feed_forward->forward(x));
  }

  std::vector<torch::Tensor> parameters() {
    std::vector<torch::Tensor> all;
    for (torch::nn::Module* part : std::initializer_list<torch::nn::Module*>{
             words.get(), norm.get(), attention.get(), feed_forward.get(), output.get()})
      for (const auto& parameter : part->parameters()) all.push_back(parameter);
    return all;
  }

  gradwire::VocabularyEmbedding words;
  gradwire::BetweenNorm norm;
  gradwire::Attention attention;
  gradwire::FeedForward feed_forward;
  gradwire::VocabularyLinear output;
};

void train(const gradwire::World& world) {
  const auto communicator = gradwire::make_communicator(world);
  gradwire::TensorGroup group(*communicator, {.sequence_parallel = true});
  torch::manual_seed(1);
  Layers layers(group);
  torch::optim::Adam optimizer(layers.parameters(), 0.01);

  const auto tokens = torch::randint(0, kWords, {8, 6}, torch::kLong);  // the same on every rank
  const auto targets = (tokens * 7 + 3).remainder(kWords);
  double loss_value = 0;
  for (int step = 0; step < 60; ++step) {
    optimizer.zero_grad();
    const auto loss = gradwire::vocabulary_cross_entropy(group, layers.logits(tokens), targets, kWords);
    loss.backward();
    optimizer.step();
    loss_value = loss.item<double>();
  }
  std::int64_t held = 0;
  for (const auto& parameter : layers.parameters()) held += parameter.numel();
  std::printf("rank %d of %d holds %lld parameters: %s\n", world.rank, world.size,
              static_cast<long long>(held),
              loss_value < 0.5 ? "it has learnt the words" : "it has learnt nothing");
}

}  // namespace

int main() { gradwire::spawn(2, train); }
