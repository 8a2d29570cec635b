#include "net/shm/ring.h"

#include <gtest/gtest.h>

#include <random>
#include <thread>
#include <vector>

#include "net/shm/segment.h"

namespace gradwire {
namespace {

using ByteVector = std::vector<std::byte>;

std::byte nth(std::size_t n) { return static_cast<std::byte>((n * 7 + n / 255) & 255); }

ByteVector stream(std::size_t from, std::size_t size) {
  ByteVector bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = nth(from + i);
  return bytes;
}

TEST(Ring, is_empty_at_first_and_gives_back_what_it_took) {
  const Segment segment = Segment::create(Ring::kSmallest, 0);
  RingWriter writer(segment.bytes());
  RingReader reader(segment.bytes());
  ByteVector head(3), body(4);
  EXPECT_EQ(reader.read(head, body), 0u);
  EXPECT_FALSE(reader.has_bytes());
  EXPECT_EQ(writer.write(stream(0, 3), stream(3, 4)), 7u);
  EXPECT_TRUE(reader.has_bytes());
  EXPECT_EQ(reader.read(head, body), 7u);
  EXPECT_EQ(head, stream(0, 3));
  EXPECT_EQ(body, stream(3, 4));
  EXPECT_EQ(reader.read(head, body), 0u);
}

TEST(Ring, takes_no_more_than_it_has_room_for) {
  const Segment segment = Segment::create(Ring::kSmallest, 0);
  RingWriter writer(segment.bytes());
  RingReader reader(segment.bytes());
  const ByteVector data = stream(0, Ring::kSmallest);
  std::size_t taken = 0;
  while (const std::size_t now = writer.write({}, data)) taken += now;
  EXPECT_GT(taken, 0u);
  EXPECT_LT(taken, data.size());
  ByteVector out(taken);
  std::size_t given = 0;
  while (const std::size_t now = reader.read({}, std::span(out).subspan(given))) given += now;
  EXPECT_EQ(given, taken);
  EXPECT_GT(writer.write({}, data), 0u);
}

// Whatever the sizes on the two sides, and however often the ring wraps, the stream is the same.
TEST(Ring, is_a_stream_of_bytes_whatever_the_pieces) {
  const Segment segment = Segment::create(Ring::kSmallest, 0);
  RingWriter writer(segment.bytes());
  RingReader reader(segment.bytes());
  std::mt19937 random(1);
  const auto any = [&](std::size_t limit) { return random() % (random() % 3 == 0 ? limit : 100) + 1; };
  std::size_t written = 0, read = 0;
  for (int round = 0; round < 5000; ++round) {
    const std::size_t head = random() % 33;
    written += writer.write(stream(written, head), stream(written + head, any(50000)));
    ByteVector first(random() % 33), second(any(50000));
    const std::size_t moved = reader.read(first, second);
    first.insert(first.end(), second.begin(), second.end());
    first.resize(moved);
    ASSERT_EQ(first, stream(read, moved));
    read += moved;
  }
  EXPECT_GT(read, 10 * Ring::kSmallest);
}

TEST(Ring, carries_a_stream_between_two_threads) {
  const Segment segment = Segment::create(Ring::kSmallest, 0);
  constexpr std::size_t kTotal = 4 << 20;
  std::jthread sender([&, data = stream(0, kTotal)] {
    const Segment mine = Segment::open(segment.name(), 1);
    RingWriter writer(mine.bytes());
    for (std::size_t sent = 0; sent < kTotal; std::this_thread::yield())
      sent += writer.write({}, std::span(data).subspan(sent));
  });
  RingReader reader(segment.bytes());
  ByteVector got(kTotal);
  for (std::size_t read = 0; read < kTotal; std::this_thread::yield())
    read += reader.read({}, std::span(got).subspan(read));
  EXPECT_EQ(got, stream(0, kTotal));
}

}  // namespace
}  // namespace gradwire
