#include <gtest/gtest.h>

#include <cstdlib>
#include <thread>

#include "net/store/memory.h"
#include "net/world.h"

namespace gradwire {
namespace {

TEST(HostIdentity, is_the_same_each_time) {
  EXPECT_FALSE(host_identity().empty());
  EXPECT_EQ(host_identity(), host_identity());
}

TEST(HostIdentity, can_be_overridden) {
  ::setenv("GRADWIRE_HOST", "left", 1);
  EXPECT_EQ(host_identity(), "left");
  ::unsetenv("GRADWIRE_HOST");
  EXPECT_NE(host_identity(), "left");
}

std::optional<World> split_as(const std::shared_ptr<Store>& store, Rank rank, std::optional<int> colour,
                              int key) {
  World world;
  world.rank = rank;
  world.size = 4;
  world.store = store;
  return split(world, colour, key);
}

TEST(Split, puts_together_the_ranks_of_a_colour_in_the_order_of_their_keys) {
  const auto store = std::make_shared<MemoryStore>();
  std::vector<std::optional<World>> parts(4);
  {
    std::vector<std::jthread> ranks;
    for (Rank rank = 0; rank < 4; ++rank)
      ranks.emplace_back([&, rank] {
        parts[rank] = split_as(store, rank, rank == 3 ? std::nullopt : std::optional(rank % 2), -rank);
      });
  }
  EXPECT_FALSE(parts[3]);
  EXPECT_EQ(parts[0]->members, (std::vector<Rank>{2, 0}));
  EXPECT_EQ(parts[0]->rank, 1);
  EXPECT_EQ(parts[2]->members, parts[0]->members);
  EXPECT_EQ(parts[2]->name, parts[0]->name);
  EXPECT_EQ(parts[1]->members, (std::vector<Rank>{1}));
  EXPECT_NE(parts[1]->name, parts[0]->name);
}

}  // namespace
}  // namespace gradwire
