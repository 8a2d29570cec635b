#include <gmock/gmock.h>

#include "base/error.h"
#include "train/sharded/flat_layout.h"
#include "train/sharded/unit_policy.h"

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::ThrowsMessage;

// Every element of every parameter lies on exactly one rank, and there in the place that its offset says.
void expect_whole(const std::vector<std::int64_t>& elements, int ranks, std::int64_t align) {
  const FlatLayout layout(elements, ranks, align);
  std::vector<std::vector<int>> seen;
  for (const auto count : elements) seen.emplace_back(static_cast<std::size_t>(count));
  for (Rank rank = 0; rank < ranks; ++rank)
    for (const auto& piece : layout.pieces(rank))
      for (auto i = piece.begin; i < piece.end; ++i) {
        ++seen[static_cast<std::size_t>(piece.member)][static_cast<std::size_t>(i)];
        const auto& member = layout.members()[static_cast<std::size_t>(piece.member)];
        ASSERT_EQ(member.offset + i, rank * layout.share() + piece.at + (i - piece.begin));
      }
  for (const auto& parameter : seen)
    for (const int times : parameter) ASSERT_EQ(times, 1);
  for (const auto& member : layout.members()) ASSERT_EQ(member.offset % align, 0);
  EXPECT_EQ(layout.total(), layout.share() * ranks);
  EXPECT_EQ(layout.share() % align, 0);
}

TEST(FlatLayout, puts_every_element_on_one_rank) {
  for (int ranks = 1; ranks <= 9; ++ranks)
    for (std::int64_t align : {1, 4, 16})
      for (std::int64_t size = 0; size < 40; ++size) {
        expect_whole({size}, ranks, align);
        expect_whole({3, size, 17, 1, size}, ranks, align);
      }
}

TEST(FlatLayout, wastes_less_than_a_rank_times_the_alignment) {
  const FlatLayout layout(std::vector<std::int64_t>{1000, 1000}, 3, 16);
  EXPECT_EQ(layout.share(), 672);  // 2 x 1008 = 2016, a third of which is 42 x 16
}

TEST(FlatLayout, refuses_what_cannot_be) {
  EXPECT_THROW(FlatLayout(std::vector<std::int64_t>{-1}, 1, 1), ConfigError);
  EXPECT_THROW(FlatLayout(std::vector<std::int64_t>{1}, 0, 1), ConfigError);
}

std::vector<ShardedParameter> gpt() {
  return {{"tokens.weight", 100},     {"norm.weight", 4},      {"norm.bias", 4},
          {"layer0.qkv.weight", 300}, {"layer0.qkv.bias", 10}, {"layer0.out.weight", 100},
          {"layer1.qkv.weight", 300}, {"layer1.qkv.bias", 10}, {"layer1.out.weight", 100},
          {"output_bias", 5}};
}

std::vector<std::string> names(const std::vector<ShardUnit>& units) {
  std::vector<std::string> result;
  for (const auto& unit : units) result.push_back(unit.name);
  return result;
}

TEST(UnitPolicy, makes_the_models_children_units) {
  const auto units = choose_units(gpt(), {.largest_share = 0.5});
  EXPECT_THAT(names(units), ElementsAre("tokens", "norm", "layer0", "layer1", "(the model's own)"));
  EXPECT_THAT(units[2].members, ElementsAre(3, 4, 5));
}

TEST(UnitPolicy, cuts_what_is_too_large_but_no_module_without_children) {
  const auto units = choose_units(gpt(), {.largest_share = 0.1});
  EXPECT_THAT(names(units), ElementsAre("tokens", "norm", "layer0.qkv", "layer0.out", "layer1.qkv",
                                        "layer1.out", "(the model's own)"));
}

TEST(UnitPolicy, looks_through_a_module_that_holds_everything) {
  const auto units = choose_units(
      std::vector<ShardedParameter>{{"layers.0.weight", 8}, {"layers.0.bias", 1}, {"layers.2.weight", 8}},
      {});
  EXPECT_THAT(names(units), ElementsAre("layers.0", "layers.2"));
}

TEST(UnitPolicy, takes_the_children_of_a_named_module) {
  const std::vector<ShardedParameter> model = {
      {"head.weight", 1}, {"body.a.x.weight", 1}, {"body.a.y.weight", 1}, {"body.b.weight", 1}};
  EXPECT_THAT(names(choose_units(model, {.children_of = "body", .largest_share = 1})),
              ElementsAre("head", "body.a", "body.b"));
  EXPECT_THAT([&] { choose_units(model, {.children_of = "bodi"}); },
              ThrowsMessage<ConfigError>(HasSubstr("children of 'bodi': the model has body, head")));
}

TEST(UnitPolicy, asks_the_user_where_one_says) {
  const auto units = choose_units(gpt(), {.unit_of = [](const std::string& name) {
                                    return name.starts_with("layer") ? std::string("layers") : std::string();
                                  }});
  EXPECT_THAT(names(units), ElementsAre("(the model's own)", "layers"));
}

TEST(UnitPolicy, keeps_types_and_frozen_ones_apart) {
  const auto units = choose_units(
      std::vector<ShardedParameter>{
          {"a.w", 1, 0, true}, {"a.f", 1, 0, false}, {"a.d", 1, 1, true}, {"a.v", 1, 0, true}},
      {});
  EXPECT_THAT(names(units), ElementsAre("a", "a (frozen)", "a"));
  EXPECT_THAT(units[0].members, ElementsAre(0, 3));
  EXPECT_FALSE(units[1].trainable);
}

}  // namespace
}  // namespace gradwire
