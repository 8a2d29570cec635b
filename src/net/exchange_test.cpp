#include "net/exchange.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "net/store/memory.h"

namespace gradwire {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

World world_of(Rank rank, std::shared_ptr<Store> store) {
  World world;
  world.rank = rank;
  world.size = 2;
  world.store = std::move(store);
  return world;
}

TEST(Exchange, gives_every_rank_what_all_made) {
  const auto store = std::make_shared<MemoryStore>();
  std::jthread other(
      [&] { exchange(world_of(1, store), "names", Deadline::after(20), [] { return "one"; }); });
  EXPECT_THAT(exchange(world_of(0, store), "names", Deadline::after(20), [] { return "zero"; }),
              ElementsAre("zero", "one"));
}

TEST(Exchange, lets_all_fail_when_one_does) {
  const auto store = std::make_shared<MemoryStore>();
  const auto fail = []() -> std::string { throw ConfigError("no paper"); };
  EXPECT_THROW(exchange(world_of(1, store), "names", Deadline::after(20), fail), ConfigError);
  EXPECT_THROW(check_exchange(world_of(0, store), "names", 1), TransportError);
  EXPECT_NO_THROW(check_exchange(world_of(0, store), "other names", 1));
  try {
    exchange(world_of(0, store), "names", Deadline::after(20), [] { return "zero"; });
    FAIL();
  } catch (const TransportError& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1 could not set up names: no paper"));
  }
}

TEST(Exchange, names_the_rank_that_does_not_come) {
  const auto store = std::make_shared<MemoryStore>();
  try {
    exchange(world_of(0, store), "names", Deadline::after(0.05), [] { return "zero"; });
    FAIL();
  } catch (const Timeout& error) {
    EXPECT_THAT(error.what(), HasSubstr("rank 1"));
  }
  store->set("lost/1", "its process ended");
  EXPECT_THROW(exchange(world_of(0, store), "names", Deadline::after(20), [] { return "zero"; }), PeerLost);
  EXPECT_THROW(check_exchange(world_of(0, store), "names", 1), PeerLost);
}

}  // namespace
}  // namespace gradwire
