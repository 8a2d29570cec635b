#include "net/store/memory.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

TEST(MemoryStore, gives_back_what_was_set) {
  MemoryStore store;
  store.set("key", std::string("a\0b", 3));
  EXPECT_EQ(store.get("key", Deadline::after(0)), std::string("a\0b", 3));
  EXPECT_EQ(store.find("key"), std::string("a\0b", 3));
  EXPECT_EQ(store.find("other"), "");
}

TEST(MemoryStore, wakes_a_reader_that_waits_for_the_key) {
  MemoryStore store;
  std::string value;
  std::thread reader([&] { value = store.get("key", Deadline::after(60)); });
  store.set("key", "value");
  reader.join();
  EXPECT_EQ(value, "value");
}

TEST(MemoryStore, names_the_key_nobody_wrote) {
  MemoryStore store;
  EXPECT_THAT([&] { store.get("tcp/3", Deadline::after(0)); }, ThrowsMessage<Timeout>(HasSubstr("'tcp/3'")));
}

TEST(MemoryStore, adds_from_zero) {
  MemoryStore store;
  EXPECT_EQ(store.add("count", 2), 2);
  EXPECT_EQ(store.add("count", -5), -3);
  EXPECT_EQ(store.get("count", Deadline::after(0)), "-3");
}

TEST(MemoryStore, takes_the_first_offer) {
  MemoryStore store;
  EXPECT_EQ(store.offer("key", "first"), "first");
  EXPECT_EQ(store.offer("key", "second"), "first");
  EXPECT_EQ(store.find("key"), "first");
}

TEST(MemoryStore, refuses_to_add_to_text) {
  MemoryStore store;
  store.set("key", "seven");
  EXPECT_THAT([&] { store.add("key", 1); }, ThrowsMessage<Error>(HasSubstr("'seven'")));
}

TEST(GetFrom, gives_the_value_when_it_is_there) {
  MemoryStore store;
  store.set("lost/1", "late");
  store.set("key", "value");
  EXPECT_EQ(get_from(store, 1, "key", Deadline::after(60)), "value");
}

TEST(GetFrom, throws_as_soon_as_the_writer_is_lost) {
  MemoryStore store;
  store.set("lost/4", "its connection closed");
  try {
    get_from(store, 4, "key", Deadline::after(3600));
    FAIL() << "nothing was thrown";
  } catch (const PeerLost& lost) {
    EXPECT_EQ(lost.peer(), 4);
    EXPECT_THAT(lost.what(), HasSubstr("its connection closed"));
  }
}

TEST(GetFrom, names_the_rank_that_was_waited_for) {
  MemoryStore store;
  EXPECT_THAT([&] { get_from(store, 7, "key", Deadline::after(0)); },
              ThrowsMessage<Timeout>(HasSubstr("rank 7")));
}

}  // namespace
}  // namespace gradwire
