// Strangers at the store's door: whatever they do, members notice nothing.
#include "net/store/server.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <poll.h>
#include <sys/resource.h>

#include <thread>

#include "base/error.h"
#include "net/address/socket.h"
#include "net/store/tcp.h"
#include "net/store/wire.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class Strangers : public testing::Test {
 protected:
  void start(const StoreServer::Limits& limits) {
    server_ = std::make_unique<StoreServer>(listen_at(SocketAddress::loopback()), "secret", limits);
    member_ = std::make_unique<TcpStore>(options("secret"), Deadline::after(60));
  }
  TcpStore::Options options(const std::string& secret) const {
    return {{"127.0.0.1", server_->address().port()}, secret, {0, "job"}};
  }
  Fd stranger() const { return connect_to(server_->address(), Deadline::after(60)); }

  // A member works, and a new one is let in.
  void expect_business_as_usual() {
    member_->set("key", "value");
    TcpStore another(options("secret"), Deadline::after(60));
    EXPECT_EQ(another.get("key", Deadline::after(60)), "value");
    another.set("left/0", "bye");
  }

  std::unique_ptr<StoreServer> server_;
  std::unique_ptr<TcpStore> member_;
};

void say(const Fd& socket, std::string_view bytes) {
  EXPECT_EQ(::send(socket.get(), bytes.data(), bytes.size(), MSG_NOSIGNAL),
            static_cast<ssize_t>(bytes.size()));
}

// Everything the server says until it closes the connection.
std::string read_until_closed(const Fd& socket) {
  std::string all;
  char block[4096];
  for (;;) {
    EXPECT_TRUE(wait_until_ready(socket.get(), POLLIN, Deadline::after(60)));
    const auto got = ::recv(socket.get(), block, sizeof block, 0);
    if (got <= 0) return all;
    all.append(block, static_cast<std::size_t>(got));
  }
}

TEST_F(Strangers, with_a_wrong_secret_are_refused_in_words) {
  start({});
  EXPECT_THAT([&] { TcpStore(options("wrong"), Deadline::after(60)); },
              ThrowsMessage<ConfigError>(AllOf(HasSubstr("secret"), HasSubstr("GRADWIRE_SECRET"))));
  expect_business_as_usual();
}

TEST_F(Strangers, that_say_something_else_are_shut_out) {
  start({});
  for (const std::string_view words :
       {std::string_view("GET / HTTP/1.1\r\n\r\n"), std::string_view("\0\0\0\0", 4),
        std::string_view("\xff\xff\xff\xff\xff\xff\xff\xff")}) {
    const auto socket = stranger();
    say(socket, words);
    read_until_closed(socket);
  }
  say(stranger(), frame(std::string(100, 'x')));
  expect_business_as_usual();
}

TEST_F(Strangers, cannot_send_requests_instead_of_a_proof) {
  start({});
  const auto socket = stranger();
  say(socket, frame(Request{Request::Kind::set, 1, 0, "key", "stolen"}.encode()));
  read_until_closed(socket);
  EXPECT_EQ(member_->find("key"), "");
}

TEST_F(Strangers, cannot_throw_the_servers_words_back_at_it) {
  start({});
  const auto socket = stranger();
  FrameReader reader;
  char block[4096];
  std::optional<std::string> greeting;
  while (!greeting) {
    ASSERT_TRUE(wait_until_ready(socket.get(), POLLIN, Deadline::after(60)));
    const auto got = ::recv(socket.get(), block, sizeof block, 0);
    ASSERT_GT(got, 0);
    reader.append({block, static_cast<std::size_t>(got)});
    greeting = reader.next(kMaxStrangerFrame);
  }
  const auto nonce = Greeting::decode(*greeting).nonce;
  say(socket, frame(Claim{nonce, nonce, {1, "job"}}.encode()));
  const auto words = read_until_closed(socket);
  EXPECT_FALSE(ProofVerdict::decode(std::string_view(words).substr(4)).proof);
}

TEST_F(Strangers, that_say_nothing_or_half_a_frame_are_closed_in_the_end) {
  start({.handshake = 0.05});
  const auto silent = stranger(), torn = stranger();
  say(torn, frame(Claim{}.encode()).substr(0, 30));
  read_until_closed(silent);
  read_until_closed(torn);
  expect_business_as_usual();
}

TEST_F(Strangers, do_not_pile_up) {
  start({.strangers = 4});
  std::vector<Fd> crowd;
  for (int i = 0; i < 50; ++i) crowd.push_back(stranger());
  for (int i = 0; i < 46; ++i) read_until_closed(crowd[i]);
  expect_business_as_usual();
}

TEST_F(Strangers, leave_descriptors_for_what_the_process_needs_itself) {
  rlimit before{};
  ASSERT_EQ(::getrlimit(RLIMIT_NOFILE, &before), 0);
  rlimit few = before;
  few.rlim_cur = 128;
  ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &few), 0);
  start({});
  std::vector<Fd> crowd;
  for (int i = 0; i < 50; ++i) crowd.push_back(stranger());
  for (int i = 0; i < 50 - 128 / 4; ++i) read_until_closed(crowd[i]);
  expect_business_as_usual();
  EXPECT_EQ(::setrlimit(RLIMIT_NOFILE, &before), 0);
}

TEST_F(Strangers, that_vanish_are_nobodys_loss) {
  start({});
  for (int i = 0; i < 20; ++i) stranger().reset();
  expect_business_as_usual();
  for (Rank rank = 0; rank < 4; ++rank) EXPECT_EQ(member_->find("lost/" + std::to_string(rank)), "");
}

TEST_F(Strangers, a_member_that_sends_half_a_frame_and_vanishes_counts_as_lost) {
  start({});
  auto dying = options("secret");
  dying.who.rank = 7;
  auto socket = connect_to_store(dying, Deadline::after(60));
  say(socket, frame(Request{Request::Kind::set, 1, 0, "key", "half"}.encode()).substr(0, 20));
  socket.reset();
  EXPECT_NE(member_->get("lost/7", Deadline::after(60)), "");
  EXPECT_EQ(member_->find("key"), "");
  expect_business_as_usual();
}

TEST_F(Strangers, what_is_no_store_is_named_as_such) {
  start({});
  auto listener = listen_at(SocketAddress::loopback());
  auto options = this->options("secret");
  options.server.port = local_address(listener.get()).port();
  std::thread other([&] {
    ASSERT_TRUE(wait_until_ready(listener.get(), POLLIN, Deadline::after(60)));
    const Fd socket(::accept(listener.get(), nullptr, nullptr));
    say(socket, "SSH-2.0-OpenSSH_9.2\r\n");
    read_until_closed(socket);
  });
  EXPECT_THAT([&] { TcpStore(options, Deadline::after(60)); },
              ThrowsMessage<ConfigError>(HasSubstr("is not a store of Gradwire")));
  other.join();
}

}  // namespace
}  // namespace gradwire
