#include <gtest/gtest.h>

#include "base/error.h"
#include "train/tensor/attention.h"
#include "train/tensor/tensor_fixture.h"
#include "train/tensor/vocabulary.h"

namespace gradwire {
namespace {

namespace nn = torch::nn;

// The rows of `whole` that a rank works on between cut layers.
torch::Tensor rows_between(TensorGroup& group, const torch::Tensor& whole) {
  return group.sequence_parallel() ? whole.chunk(group.size(), -2)[static_cast<std::size_t>(group.rank())]
                                   : whole;
}

// Forward and backward of a module made whole, then split, on the same input with the same gradient. Gradients of
// inputs and outputs are compared where this rank has them.
template <typename Holder>
void expect_like_whole(Holder module, TensorGroup& group, const torch::Tensor& data) {
  module->to(torch::kFloat64);
  auto input = data.clone().requires_grad_();
  const auto output = module->forward(input);
  const auto weights = torch::randn_like(output);
  (output * weights).sum().backward();
  const auto gradients = gradients_by_name(*module);

  module->split(group);
  auto own = rows_between(group, data).clone().requires_grad_();
  const auto got = module->forward(own);
  (got * rows_between(group, weights)).sum().backward();
  EXPECT_LT(difference(got, rows_between(group, output)), 1e-10);
  EXPECT_LT(difference(own.grad(), rows_between(group, input.grad())), 1e-10);
  expect_parts(*module, gradients, group);
}

struct GroupCase {
  int ranks;
  bool sequence;
  const char* backend;
};

class TensorLayers : public testing::TestWithParam<GroupCase> {
 protected:
  void run(const std::function<void(TensorGroup&)>& test) {
    const auto& given = GetParam();
    run_group(given.ranks, {.sequence_parallel = given.sequence}, test, given.backend);
  }
};

TEST_P(TensorLayers, attention_has_the_outputs_and_gradients_of_the_unsplit_layer) {
  run([](TensorGroup& group) {
    for (const bool causal : {true, false})
      expect_like_whole(Attention(AttentionOptions{.width = 16, .heads = 4, .causal = causal, .dropout = 0}),
                        group, torch::randn({2, 8, 16}, torch::kFloat64));
  });
}

TEST_P(TensorLayers, linear_layers_have_the_outputs_and_gradients_of_the_unsplit_ones) {
  run([](TensorGroup& group) {
    for (const bool tanh : {true, false})
      expect_like_whole(
          FeedForward(FeedForwardOptions{.width = 6, .middle = 20, .tanh_gelu = tanh, .dropout = 0}), group,
          torch::randn({3, 8, 6}, torch::kFloat64));
  });
}

// 21 words divide among none of these groups; one target in four does not count.
TEST_P(TensorLayers, a_vocabulary_that_does_not_divide_gives_the_loss_and_gradients_of_the_unsplit_one) {
  run([](TensorGroup& group) {
    nn::Embedding whole(21, 6);
    nn::Linear output(nn::LinearOptions(6, 21));
    whole->to(torch::kFloat64), output->to(torch::kFloat64);
    const auto tokens = torch::randint(0, 21, {2, 8}, torch::kLong);
    auto targets = torch::randint(0, 21, {2, 8}, torch::kLong);
    targets.view({-1}).slice(0, 0, 16, 4).fill_(-100);
    const auto logits = output->forward(torch::tanh(whole->forward(tokens)));
    const auto loss = nn::functional::cross_entropy(logits.reshape({-1, 21}), targets.reshape(-1));
    loss.backward();

    VocabularyEmbedding embedding(whole, group);
    VocabularyLinear words(output, group);
    const auto own = words->forward(torch::tanh(embedding->forward(tokens)));
    const auto got = vocabulary_cross_entropy(group, own, targets, 21);
    got.backward();
    EXPECT_LT(std::abs(got.item<double>() - loss.item<double>()), 1e-12);
    expect_parts(*embedding, gradients_by_name(*whole), group);
    expect_parts(*words, gradients_by_name(*output), group);
    EXPECT_TRUE(torch::equal(vocabulary_argmax(group, own, 21), logits.argmax(-1)));
  });
}

TEST_P(TensorLayers, norms_between_cut_layers_have_whole_gradients) {
  run([](TensorGroup& group) {
    const auto data = torch::randn({2, 8, 6}, torch::kFloat64), weights = torch::randn_like(data);
    nn::LayerNorm whole(nn::LayerNormOptions({6}));
    nn::Linear linear(6, 6);
    whole->to(torch::kFloat64), linear->to(torch::kFloat64);
    (linear->forward(whole->forward(data)) * weights).sum().backward();
    BetweenNorm norm(whole, group);
    BetweenLinear between(linear, group);
    (between->forward(norm->forward(rows_between(group, data))) * rows_between(group, weights))
        .sum()
        .backward();
    expect_parts(*norm, gradients_by_name(*whole), group);
    expect_parts(*between, gradients_by_name(*linear), group);
  });
}

TEST_P(TensorLayers, moves_and_their_gradients_are_each_others_reverse) {
  run([](TensorGroup& group) {
    const auto data = torch::randn({8, 3}, torch::kFloat64);
    auto whole = data.clone().requires_grad_();
    const auto again = all_rows(group, own_rows(group, whole));
    EXPECT_TRUE(torch::equal(again, data));
    (again * data).sum().backward();
    EXPECT_TRUE(torch::equal(whole.grad(), data));
    for (const TensorCut cut : {TensorCut{}, TensorCut{.dim = 0}, TensorCut{.dim = 0, .blocks = 2}}) {
      const auto part = part_of(data, cut, group.size(), group.rank());
      EXPECT_TRUE(torch::equal(whole_of(group, part, cut), data)) << cut.dim << " in " << cut.blocks;
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Groups, TensorLayers,
                         testing::Values(GroupCase{1, false, "shm"}, GroupCase{2, false, "shm"},
                                         GroupCase{2, true, "shm"}, GroupCase{4, false, "shm"},
                                         GroupCase{4, true, "shm"}, GroupCase{2, true, "tcp"}),
                         [](const auto& tested) {
                           return std::to_string(tested.param.ranks) + "_ranks_" + tested.param.backend +
                                  (tested.param.sequence ? "_sequence" : "");
                         });

// Dropout of what all ranks have is the same on all; of parts each rank draws its own, and the ranks' generators stay
// together.
TEST(TensorDropout, is_one_where_ranks_hold_the_same_and_differs_where_they_hold_parts) {
  run_group(2, {}, [](TensorGroup& group) {
    Attention attention(AttentionOptions{.width = 16, .heads = 4, .dropout = 0.5});
    attention->split(group);
    auto output = attention->forward(torch::randn({2, 8, 16}));
    EXPECT_TRUE(torch::equal(all_rows(group, output).chunk(2, -2)[0], output));
    EXPECT_GT(output.eq(0).sum().item<int>(), 32);  // of 256, at a half

    PartDropout part(0.5, group);
    const auto kept = part->forward(torch::ones({1000}));
    const auto ranks = all_rows(group, kept.unsqueeze(1)).view({2, 1000});
    EXPECT_FALSE(torch::equal(ranks[0], ranks[1]));
    EXPECT_NEAR(kept.mean().item<double>(), 1, 0.2);
    const auto next = torch::rand({1, 1});
    EXPECT_TRUE(torch::equal(all_rows(group, next)[0], all_rows(group, next)[1]));
    part->eval();
    EXPECT_TRUE(torch::equal(part->forward(kept), kept));
  });
}

TEST(TensorLayersRefuse, what_does_not_divide_by_name) {
  run_group(3, {.sequence_parallel = true}, [](TensorGroup& group) {
    Attention attention(AttentionOptions{.width = 16, .heads = 4});
    EXPECT_EQ(error_of([&] { attention->split(group); }),
              "4 heads can't be divided among 3 ranks of a tensor-parallel group");
    EXPECT_EQ(error_of([&] {
                scatter_sums(group, torch::ones({8, 2}));
              }),
              "a sequence of 8 can't be divided among 3 ranks: sequence parallelism needs one that can");
  });
}

}  // namespace
}  // namespace gradwire
