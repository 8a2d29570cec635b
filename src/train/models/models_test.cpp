#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

#include "base/error.h"
#include "train/loop/seed.h"
#include "train/models/net.h"

namespace gradwire {

void PrintTo(const TrainableModel& model, std::ostream* out) { *out << model.name; }

namespace {

std::int64_t count(torch::nn::Module& model) {
  std::int64_t sum = 0;
  for (const auto& parameter : model.parameters()) sum += parameter.numel();
  return sum;
}

class Models : public testing::TestWithParam<TrainableModel> {};

TEST_P(Models, have_as_many_parameters_as_published) {
  EXPECT_EQ(count(*make_model(GetParam())), GetParam().parameters);
}

// The largest would need gigabytes for what the others show.
std::vector<TrainableModel> those_that_fit() {
  std::vector<TrainableModel> fit;
  for (const TrainableModel& model : trainable_models())
    if (model.parameters < 400'000'000) fit.push_back(model);
  return fit;
}

INSTANTIATE_TEST_SUITE_P(Catalog, Models, testing::ValuesIn(those_that_fit()), [](const auto& tested) {
  std::string name(tested.param.name);
  std::replace(name.begin(), name.end(), '-', '_');
  return name;
});

// GPT-2's formula: V d + T d + L (12 d^2 + 13 d) + 2 d.
TEST(Catalog, holds_the_large_ones_to_the_formula) {
  for (const TrainableModel& model : trainable_models()) {
    if (model.kind != ModelKind::gpt || !model.shape.tied) continue;
    const std::int64_t d = model.shape.width;
    EXPECT_EQ(model.parameters, (model.shape.vocabulary + model.shape.context) * d +
                                    model.shape.layers * (12 * d * d + 13 * d) + 2 * d)
        << model.name;
  }
}

TEST(Catalog, lists_what_there_is_when_a_name_is_wrong) {
  try {
    find_trainable("resnet51");
    FAIL();
  } catch (const ConfigError& error) {
    EXPECT_THAT(error.what(),
                testing::HasSubstr("'resnet51' is not a model: there are mlp, convnet, resnet18"));
  }
}

TEST(Nets, give_logits_of_the_right_shape) {
  const torch::NoGradGuard no_grad;
  EXPECT_EQ(make_mlp()->forward(torch::randn({2, 1024})).sizes(), (std::vector<std::int64_t>{2, 1024}));
  EXPECT_EQ(make_convnet()->forward(torch::randn({2, 1, 28, 28})).sizes(),
            (std::vector<std::int64_t>{2, 10}));
  EXPECT_EQ(make_resnet({.depth = 18})->forward(torch::randn({2, 3, 32, 32})).sizes(),
            (std::vector<std::int64_t>{2, 1000}));
  EXPECT_EQ(make_resnet({.depth = 50})->forward(torch::randn({2, 3, 32, 32})).sizes(),
            (std::vector<std::int64_t>{2, 1000}));
  const TransformerShape small{.layers = 2, .width = 32, .heads = 4, .context = 16, .vocabulary = 300};
  const auto tokens = torch::randint(0, 300, {2, 16}, torch::kLong);
  EXPECT_EQ(make_gpt(small)->forward(tokens).sizes(), (std::vector<std::int64_t>{2, 16, 300}));
  EXPECT_EQ(make_bert(small)->forward(tokens).sizes(), (std::vector<std::int64_t>{2, 16, 300}));
  EXPECT_THROW(make_gpt(small)->forward(torch::zeros({1, 17}, torch::kLong)), ConfigError);
}

// What a token gets must not depend on those after it in GPT, and must in BERT.
TEST(Nets, gpt_looks_back_only_and_bert_both_ways) {
  const torch::NoGradGuard no_grad;
  const TransformerShape small{.layers = 2, .width = 32, .heads = 4, .context = 16, .vocabulary = 300};
  const auto first_changes = [](const std::shared_ptr<Net>& net) {
    net->eval();
    auto a = torch::zeros({1, 8}, torch::kLong), b = a.clone();
    b.select(1, 7).fill_(5);
    return !torch::equal(net->forward(a).select(1, 0), net->forward(b).select(1, 0));
  };
  EXPECT_FALSE(first_changes(make_gpt(small)));
  EXPECT_TRUE(first_changes(make_bert(small)));
}

TEST(Nets, are_the_same_for_the_same_seed) {
  seed_all(3);
  const auto first = make_convnet()->parameters();
  seed_all(3);
  const auto second = make_convnet()->parameters();
  for (std::size_t i = 0; i < first.size(); ++i) EXPECT_TRUE(torch::equal(first[i], second[i]));
}

TEST(Seeds, differ_between_ranks_and_not_between_runs) {
  const auto draw = [](std::uint64_t seed, Rank rank) {
    seed_rank(seed, rank);
    return torch::rand({4});
  };
  EXPECT_TRUE(torch::equal(draw(1, 0), draw(1, 0)));
  EXPECT_FALSE(torch::equal(draw(1, 0), draw(1, 1)));
  EXPECT_FALSE(torch::equal(draw(1, 0), draw(0, 1)));
}

// Two of three targets count: the mean of -log softmax over them.
TEST(Loss, leaves_out_what_is_not_to_be_learnt) {
  const auto logits = torch::zeros({1, 3, 4});
  const auto targets = torch::tensor({{0L, -100L, 3L}});
  EXPECT_NEAR(loss_of(logits, targets).item<double>(), std::log(4.0), 1e-6);
  EXPECT_EQ(loss_of(logits.to(torch::kBFloat16), targets).scalar_type(), torch::kFloat32);
}

}  // namespace
}  // namespace gradwire
