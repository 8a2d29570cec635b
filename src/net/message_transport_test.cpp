#include "net/message_transport.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

#include "base/error.h"

namespace gradwire {
namespace {

using Bytes = std::vector<std::byte>;

// Two ranks' streams inside this test, moved a few bytes at a time.
struct Streams {
  std::deque<std::byte> to[2];  // by receiver
  std::optional<Fault> told;
};

class SlowWire final : public Wire {
 public:
  SlowWire(Streams& streams, Rank rank, std::size_t most) : streams_(streams), rank_(rank), most_(most) {}

  std::size_t write(Rank to, std::span<const std::byte> head, std::span<const std::byte> body) override {
    return move(
        head, body, [&](const std::byte& byte) { streams_.to[to].push_back(byte); }, most_);
  }
  std::size_t read(Rank, std::span<std::byte> head, std::span<std::byte> body) override {
    auto& queue = streams_.to[rank_];
    const auto take = [&](std::byte& byte) {
      byte = queue.front();
      queue.pop_front();
    };
    return move(head, body, take, std::min(most_, queue.size()));
  }
  bool pause(bool, Deadline) override { return true; }
  std::optional<Fault> find_fault() override { return fault; }
  void tell(const Fault& why) noexcept override { streams_.told = why; }
  void wake() noexcept override {}

  std::optional<Fault> fault;

 private:
  template <typename Byte, typename Action>
  std::size_t move(std::span<Byte> head, std::span<Byte> body, Action action, std::size_t most) {
    const std::size_t count = std::min(most, head.size() + body.size()) * (random_() % 2);
    for (std::size_t i = 0; i < count; ++i) action(i < head.size() ? head[i] : body[i - head.size()]);
    return count;
  }

  Streams& streams_;
  const Rank rank_;
  const std::size_t most_;
  std::mt19937 random_{7};
};

Bytes pattern(std::size_t size) {
  Bytes bytes(size);
  for (std::size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i % 251);
  return bytes;
}

TEST(MessageTransport, puts_messages_together_from_any_pieces) {
  for (const std::size_t most : {1, 2, 31, 33, 100}) {
    Streams streams;
    MessageTransport sender(RankNames{0}, 2, std::make_unique<SlowWire>(streams, 0, most));
    MessageTransport receiver(RankNames{1}, 2, std::make_unique<SlowWire>(streams, 1, most));
    const Bytes first = pattern(100), second = pattern(7);
    Bytes got_first(100), got_second(7);
    sender.send(1, {}, first, 1);
    sender.send(1, {}, {}, 2);
    sender.send(1, {}, second, 3);
    for (const Ticket ticket : {1, 2, 3}) EXPECT_EQ(sender.wait_any(Deadline::after(5)), ticket);
    receiver.recv(0, {}, got_first, 4);
    receiver.recv(0, {}, {}, 5);
    receiver.recv(0, {}, got_second, 6);
    for (const Ticket ticket : {4, 5, 6}) EXPECT_EQ(receiver.wait_any(Deadline::after(5)), ticket);
    EXPECT_EQ(got_first, first);
    EXPECT_EQ(got_second, second);
  }
}

TEST(MessageTransport, looks_at_the_clock_even_while_bytes_flow) {
  Streams streams;
  MessageTransport sender(RankNames{0}, 2, std::make_unique<SlowWire>(streams, 0, 1));
  const Bytes bytes(1 << 20);
  sender.send(1, {}, bytes, 1);
  EXPECT_THROW(sender.wait_any(Deadline::after(0)), Timeout);
  EXPECT_LT(streams.to[1].size(), 1000u);
}

TEST(MessageTransport, tells_its_peers_what_it_threw_and_passes_on_what_it_was_told) {
  Streams streams;
  auto wire = std::make_unique<SlowWire>(streams, 0, 1);
  wire->fault = Fault{Fault::Kind::mismatch, 2, -1, "4 is not 8"};
  MessageTransport transport(RankNames{0}, 3, std::move(wire));
  std::byte byte{};
  transport.recv(1, {}, std::span(&byte, 1), 1);
  EXPECT_THROW(transport.wait_any(Deadline::after(5)), Mismatch);
  EXPECT_EQ(streams.told->origin, 2);
  EXPECT_EQ(streams.told->text, "4 is not 8");
}

TEST(MessageTransport, finds_a_wait_for_nothing_to_be_a_bug) {
  Streams streams;
  MessageTransport transport(RankNames{0}, 2, std::make_unique<SlowWire>(streams, 0, 1));
  EXPECT_THROW(transport.wait_any(Deadline::after(5)), Error);
}

}  // namespace
}  // namespace gradwire
