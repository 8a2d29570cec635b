#include "train/loop/sampler.h"

#include <gtest/gtest.h>

#include <set>

#include "base/error.h"

namespace gradwire {
namespace {

using Indices = std::vector<std::int64_t>;

std::vector<Indices> deal(std::int64_t size, SamplerOptions options, std::int64_t epoch = 0) {
  std::vector<Indices> all;
  for (options.rank = 0; options.rank < options.ranks; ++options.rank) {
    DistributedSampler sampler(size, options);
    sampler.set_epoch(epoch);
    all.push_back(sampler.indices());
  }
  return all;
}

// What torch.utils.data.DistributedSampler of PyTorch 1.13 gives for the same arguments.
TEST(DistributedSampler, gives_the_indices_that_pytorch_gives) {
  EXPECT_EQ(deal(10, {.ranks = 3, .seed = 0, .drop_last = false}, 0),
            (std::vector<Indices>{{4, 5, 0, 2}, {1, 3, 8, 4}, {7, 9, 6, 1}}));
  EXPECT_EQ(deal(10, {.ranks = 3, .seed = 7, .drop_last = false}, 2),
            (std::vector<Indices>{{0, 7, 9, 3}, {5, 6, 1, 0}, {8, 2, 4, 5}}));
  EXPECT_EQ(deal(10, {.ranks = 3, .seed = 7, .drop_last = true}, 2),
            (std::vector<Indices>{{0, 7, 9}, {5, 6, 1}, {8, 2, 4}}));
  EXPECT_EQ(deal(2, {.ranks = 5, .seed = 0, .drop_last = false}, 0),
            (std::vector<Indices>{{0}, {1}, {0}, {1}, {0}}));
}

TEST(DistributedSampler, covers_the_dataset_with_equal_shares) {
  for (const std::int64_t size : {1, 2, 7, 12, 100})
    for (const int ranks : {1, 2, 3, 5, 8})
      for (const bool shuffle : {false, true}) {
        const auto dealt = deal(size, {.ranks = ranks, .shuffle = shuffle});
        std::multiset<std::int64_t> seen;
        for (const auto& share : dealt) {
          EXPECT_EQ(share.size(), dealt[0].size());
          seen.insert(share.begin(), share.end());
        }
        EXPECT_EQ(std::set(seen.begin(), seen.end()).size(), static_cast<std::size_t>(size));
        EXPECT_LT(seen.size(), static_cast<std::size_t>(size + ranks)) << "padded by less than one round";
      }
}

TEST(DistributedSampler, drops_the_end_instead_of_padding_when_told_to) {
  const auto dealt = deal(11, {.ranks = 3, .drop_last = true});
  std::set<std::int64_t> seen;
  for (const auto& share : dealt) {
    EXPECT_EQ(share.size(), 3u);
    seen.insert(share.begin(), share.end());
  }
  EXPECT_EQ(seen.size(), 9u) << "disjoint";
}

TEST(DistributedSampler, shuffles_anew_in_each_epoch) {
  EXPECT_NE(deal(50, {.ranks = 2}, 0), deal(50, {.ranks = 2}, 1));
  EXPECT_EQ(deal(50, {.ranks = 2}, 1), deal(50, {.ranks = 2}, 1));
  EXPECT_EQ(deal(50, {.ranks = 2, .seed = 4}, 1), deal(50, {.ranks = 2, .seed = 5}, 0))
      << "seed + epoch counts";
}

TEST(DistributedSampler, feeds_a_data_loader_batch_by_batch) {
  DistributedSampler sampler(10, {.rank = 1, .ranks = 2, .shuffle = false});
  EXPECT_EQ(*sampler.next(3), (std::vector<std::size_t>{1, 3, 5}));
  EXPECT_EQ(*sampler.next(3), (std::vector<std::size_t>{7, 9}));
  EXPECT_FALSE(sampler.next(3));
  sampler.reset();
  EXPECT_TRUE(sampler.next(3));
}

TEST(DistributedSampler, goes_on_where_it_was_saved) {
  DistributedSampler sampler(10, {.ranks = 2}), other(10, {.ranks = 2});
  sampler.set_epoch(3);
  sampler.next(2);
  torch::serialize::OutputArchive out;
  sampler.save(out);
  std::ostringstream text;
  out.save_to(text);
  std::istringstream back(text.str());
  torch::serialize::InputArchive in;
  in.load_from(back);
  other.load(in);
  EXPECT_EQ(*other.next(3), *sampler.next(3));
}

TEST(DistributedSampler, refuses_ranks_and_sizes_that_can_not_be) {
  EXPECT_THROW(DistributedSampler(0, {}), ConfigError);
  EXPECT_THROW(DistributedSampler(5, {.rank = 2, .ranks = 2}), ConfigError);
  EXPECT_THROW(DistributedSampler(5, {.ranks = 0}), ConfigError);
}

}  // namespace
}  // namespace gradwire
