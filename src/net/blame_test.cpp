#include "net/blame.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "net/store/memory.h"

namespace gradwire {
namespace {

using testing::AllOf;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;

World world_of_four(Rank rank, std::shared_ptr<Store> store) {
  World world;
  world.rank = rank;
  world.size = 4;
  world.store = std::move(store);
  return world;
}

Overdue waited(Rank me, std::vector<Rank> awaited) {
  return Overdue(fmt::format("rank {} waited", me), std::move(awaited));
}

TEST(LookThrough, goes_on_to_the_one_that_says_nothing) {
  const auto store = std::make_shared<MemoryStore>();
  std::jthread leader([&] { look_through(world_of_four(0, store), waited(0, {2})); });
  std::jthread neighbour([&] { look_through(world_of_four(3, store), waited(3, {1})); });
  const Overdue seen = look_through(world_of_four(1, store), waited(1, {0}));
  EXPECT_STREQ(seen.what(), "rank 1 waited; rank 0 waited for rank 2; rank 2 says nothing");
  EXPECT_THAT(seen.awaited(), ElementsAre(2));
}

TEST(LookThrough, tells_of_ranks_that_wait_for_each_other) {
  const auto store = std::make_shared<MemoryStore>();
  store->set("waits/1", "2 3");
  store->set("waits/2", "0");
  store->set("waits/3", "nobody");
  const Overdue seen = look_through(world_of_four(0, store), waited(0, {1}));
  EXPECT_STREQ(seen.what(), "rank 0 waited; rank 1 waited for ranks 2, 3; rank 2 waited for rank 0");
  EXPECT_THAT(seen.awaited(), ElementsAre(1));
}

TEST(LookThrough, leaves_alone_what_nobody_knows_more_of) {
  const auto store = std::make_shared<MemoryStore>();
  EXPECT_STREQ(look_through(world_of_four(0, store), waited(0, {1})).what(), "rank 0 waited");
  forget_waits(world_of_four(0, store));
  EXPECT_THAT(look_through(world_of_four(1, store), waited(1, {0})).what(), Not(HasSubstr("rank 0 waited")));
}

TEST(LookThrough, asks_nobody_where_there_are_but_two) {
  World world = world_of_four(0, std::make_shared<MemoryStore>());
  world.size = 2;
  look_through(world, waited(0, {1}));
  EXPECT_EQ(world.store->find("waits/0"), "");
}

// One whose server is gone, or does not answer.
class LostStore final : public Store {
 public:
  explicit LostStore(bool silent) : silent_(silent) {}
  void set(std::string_view, std::string_view, Deadline answer) override { fail(answer); }
  std::string get(std::string_view, Deadline deadline) override { fail(deadline); }
  std::string offer(std::string_view, std::string_view, Deadline answer) override { fail(answer); }
  std::int64_t add(std::string_view, std::int64_t, Deadline answer) override { fail(answer); }
  std::string find(std::string_view, Deadline answer) override { fail(answer); }

 private:
  [[noreturn]] void fail(Deadline answer) const {
    if (!silent_) throw TransportError("it is gone");
    EXPECT_LT(answer.remaining(), 60) << "nobody waits for it as long as for ranks";
    throw Timeout("it does not answer");
  }
  const bool silent_;
};

TEST(LookThrough, does_without_a_store_that_is_out_of_reach) {
  for (const bool silent : {false, true}) {
    const World world = world_of_four(0, std::make_shared<LostStore>(silent));
    EXPECT_STREQ(look_through(world, waited(0, {1})).what(), "rank 0 waited");
  }
}

}  // namespace
}  // namespace gradwire
