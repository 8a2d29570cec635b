#include "net/tcp/handshake.h"

#include <gtest/gtest.h>
#include <sys/socket.h>

#include <array>
#include <utility>

namespace gradwire {
namespace {

using State = Handshake::State;

World world_of(Rank rank, const std::string& secret = "open sesame", const std::string& name = "world") {
  World world;
  world.rank = rank;
  world.size = 4;
  world.secret = secret;
  world.name = name;
  return world;
}

// Two ends of a connection inside this process.
std::pair<Fd, Fd> connection() {
  std::array<int, 2> ends{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, ends.data()), 0);
  return {Fd(ends[0]), Fd(ends[1])};
}

struct Meeting {
  State connecting = State::working, accepting = State::working;
};

Meeting meet(Handshake& connecting, Handshake& accepting) {
  Meeting meeting;
  for (int turn = 0; turn < 4; ++turn) {
    if (meeting.connecting == State::working) meeting.connecting = connecting.advance();
    if (meeting.connecting == State::failed) connecting.take_socket();
    if (meeting.accepting == State::working) meeting.accepting = accepting.advance();
    if (meeting.accepting == State::failed) accepting.take_socket();
  }
  return meeting;
}

Meeting meet(const World& from, const World& to, const Edge& edge) {
  auto [near, far] = connection();
  Handshake connecting(std::move(near), from, edge), accepting(std::move(far), to);
  return meet(connecting, accepting);
}

TEST(Handshake, lets_two_ranks_of_one_world_find_their_place) {
  const World from = world_of(3), to = world_of(1);
  auto [near, far] = connection();
  Handshake connecting(std::move(near), from, {3, 1, 5}), accepting(std::move(far), to);
  const Meeting meeting = meet(connecting, accepting);
  EXPECT_EQ(meeting.connecting, State::done);
  EXPECT_EQ(meeting.accepting, State::done);
  EXPECT_EQ(accepting.edge().from, 3);
  EXPECT_EQ(accepting.edge().lane, 5);
}

TEST(Handshake, leaves_what_follows_it_to_the_transport) {
  const World from = world_of(3), to = world_of(1);
  auto [near, far] = connection();
  Handshake connecting(std::move(near), from, {3, 1, 0}), accepting(std::move(far), to);
  connecting.advance();
  accepting.advance();
  connecting.advance();
  ASSERT_EQ(accepting.advance(), State::done);
  ASSERT_EQ(send(accepting.socket(), "data", 4, 0), 4);
  ASSERT_EQ(connecting.advance(), State::done);
  std::array<char, 8> block{};
  EXPECT_EQ(recv(connecting.socket(), block.data(), block.size(), 0), 4);
}

// The accepting side may drop it at any time to make room; the connecting side must see that.
TEST(Handshake, is_not_done_before_the_accepting_side_says_so) {
  const World from = world_of(3), to = world_of(1);
  auto [near, far] = connection();
  Handshake connecting(std::move(near), from, {3, 1, 0}), accepting(std::move(far), to);
  connecting.advance();
  accepting.advance();
  EXPECT_EQ(connecting.advance(), State::working);
  accepting.take_socket();
  EXPECT_EQ(connecting.advance(), State::failed);
  EXPECT_EQ(connecting.failure(), Handshake::Failure::broken);
}

TEST(Handshake, fails_on_both_sides_when_the_secret_differs) {
  const Meeting meeting = meet(world_of(3, "open rye"), world_of(1), {3, 1, 0});
  EXPECT_EQ(meeting.connecting, State::failed);
  EXPECT_EQ(meeting.accepting, State::failed);
}

TEST(Handshake, fails_between_worlds_of_different_names) {
  const Meeting meeting = meet(world_of(3, "open sesame", "another"), world_of(1), {3, 1, 0});
  EXPECT_EQ(meeting.accepting, State::failed);
}

TEST(Handshake, fails_when_the_place_is_not_at_this_rank) {
  for (const Edge& edge : {Edge{3, 2, 0}, Edge{0, 1, 0}, Edge{1, 1, 0}, Edge{4, 1, 0}, Edge{-1, 1, 0}})
    EXPECT_EQ(meet(world_of(3), world_of(1), edge).accepting, State::failed);
}

// Somebody who relays an answer to another place gets a proof that is of no use there.
TEST(Handshake, cannot_be_replayed) {
  const World from = world_of(3), to = world_of(1);
  std::string recorded(160, '\0');
  {
    auto [near, spy_near] = connection();
    auto [spy_far, far] = connection();
    Handshake connecting(std::move(near), from, {3, 1, 0}), accepting(std::move(far), to);
    const auto relay = [](const Fd& source, const Fd& sink, char* copy) {
      const ssize_t got = recv(source.get(), copy, 160, 0);
      EXPECT_EQ(send(sink.get(), copy, static_cast<std::size_t>(got), 0), got);
      return got;
    };
    std::array<char, 160> ignored;
    connecting.advance();
    const ssize_t hello = relay(spy_near, spy_far, recorded.data());
    accepting.advance();
    relay(spy_far, spy_near, ignored.data());
    connecting.advance();
    const ssize_t proof = relay(spy_near, spy_far, recorded.data() + hello);
    EXPECT_EQ(accepting.advance(), State::done);
    recorded.resize(static_cast<std::size_t>(hello + proof));
  }
  auto [near, far] = connection();
  Handshake again(std::move(far), to);
  ASSERT_EQ(send(near.get(), recorded.data(), recorded.size(), 0), static_cast<ssize_t>(recorded.size()));
  EXPECT_EQ(again.advance(), State::failed);
}

TEST(Handshake, fails_on_garbage_and_on_a_closed_connection) {
  const World to = world_of(1);
  auto [near, far] = connection();
  Handshake garbage(std::move(far), to);
  const std::string request =
      "GET / HTTP/1.1\r\nHost: example.org\r\nUser-Agent: a browser of some kind\r\n\r\n";
  ASSERT_GT(send(near.get(), request.data(), request.size(), 0), 0);
  EXPECT_EQ(garbage.advance(), State::failed);
  EXPECT_EQ(garbage.failure(), Handshake::Failure::stranger);

  auto [gone, left] = connection();
  gone.reset();
  Handshake closed(std::move(left), to);
  EXPECT_EQ(closed.advance(), State::failed);
  EXPECT_EQ(closed.failure(), Handshake::Failure::broken);
}

TEST(Handshake, goes_on_byte_by_byte) {
  const World from = world_of(3), to = world_of(1);
  auto [near, spy_near] = connection();
  auto [spy_far, far] = connection();
  Handshake connecting(std::move(near), from, {3, 1, 0}), accepting(std::move(far), to);
  Meeting meeting;
  const auto relay_byte = [](const Fd& source, const Fd& sink) {
    char byte = 0;
    if (recv(source.get(), &byte, 1, 0) != 1) return;
    EXPECT_EQ(send(sink.get(), &byte, 1, 0), 1);
  };
  for (int turn = 0; turn < 400 && meeting.accepting == State::working; ++turn) {
    if (meeting.connecting == State::working) meeting.connecting = connecting.advance();
    relay_byte(spy_near, spy_far);
    meeting.accepting = accepting.advance();
    relay_byte(spy_far, spy_near);
  }
  EXPECT_EQ(meeting.accepting, State::done);
}

}  // namespace
}  // namespace gradwire
