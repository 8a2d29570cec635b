#include "net/rendezvous/rendezvous.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <thread>

#include "base/error.h"
#include "base/files.h"
#include "base/secret.h"
#include "net/address/socket.h"
#include "net/rendezvous/secret.h"
#include "net/store/server.h"
#include "net/store/tcp.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

std::uint16_t free_port() {
  const auto listener = listen_at(SocketAddress::loopback());
  return local_address(listener.get()).port();
}

// Each rank joins with the options that `options_of` gives it, and leaves after `body`.
void join_all(int ranks, const std::string& url, const std::function<JoinOptions(Rank)>& options_of,
              const std::function<void(const World&)>& body) {
  expect_all_ok(run_threads(ranks, [&](const World& place) {
    const auto world = join(url, options_of(place.rank));
    EXPECT_EQ(world.rank, place.rank);
    body(world);
    leave(world);
  }));
}

void expect_to_see_each_other(const World& world) {
  world.store->set("hello/" + std::to_string(world.rank), "hello");
  for (Rank rank = 0; rank < world.size; ++rank)
    EXPECT_EQ(get_from(*world.store, rank, "hello/" + std::to_string(rank), Deadline::after(60)), "hello");
  EXPECT_EQ(world.local_rank, world.rank);
  EXPECT_EQ(world.local_size, world.size);
  EXPECT_EQ(world.interface, "");
}

TEST(Join, brings_ranks_together_through_a_file_that_only_the_user_reads) {
  const TempDir directory;
  const auto file = directory.path() / "meet";
  join_all(
      4, "file://" + file.string(),
      [](Rank rank) { return JoinOptions{.rank = rank, .size = 4, .environment = {}}; },
      [&](const World& world) {
        expect_to_see_each_other(world);
        struct stat status {};
        EXPECT_EQ(::stat(file.c_str(), &status), 0);
        EXPECT_EQ(status.st_mode & 0777, 0600U);
      });
  EXPECT_FALSE(std::filesystem::exists(file)) << "the file goes with the world";
}

TEST(Join, looks_again_when_the_file_was_left_by_an_earlier_job) {
  const TempDir directory;
  const auto file = directory.path() / "meet";
  const StoreServer other(listen_at(SocketAddress::loopback()), make_secret());
  for (const auto port : {free_port(), other.address().port()}) {
    write_file(file, fmt::format("127.0.0.1:{}\n{}\n", port, make_secret()), 0600);
    std::thread late([&] {
      const auto world = join("file://" + file.string() + "?rank=1&size=2");
      expect_to_see_each_other(world);
      leave(world);
    });
    const auto world = join("file://" + file.string() + "?rank=0&size=2");
    expect_to_see_each_other(world);
    leave(world);
    late.join();
  }
}

TEST(Join, does_not_trust_a_file_that_others_can_write) {
  const TempDir directory;
  const auto file = directory.path() / "meet";
  write_file(file, "127.0.0.1:1\nsecret\n", 0666);
  EXPECT_THAT([&] { join("file://" + file.string() + "?rank=1&size=2"); },
              ThrowsMessage<ConfigError>(HasSubstr("chmod 600")));
}

TEST(Join, names_the_file_that_rank_zero_did_not_write) {
  const TempDir directory;
  const auto url = "file://" + (directory.path() / "meet").string() + "?rank=1&size=2";
  EXPECT_THAT([&] { join(url, {.timeout = 0.05}); },
              ThrowsMessage<Timeout>(AllOf(HasSubstr("rank 1"), HasSubstr("meet"))));
}

TEST(Join, brings_ranks_together_at_an_address_by_the_users_cookie) {
  const TempDir home;
  const Environment environment = {{"HOME", home.path().string()}};
  join_all(
      3, fmt::format("tcp://127.0.0.1:{}", free_port()),
      [&](Rank rank) { return JoinOptions{.rank = rank, .size = 3, .environment = environment}; },
      expect_to_see_each_other);
}

TEST(Join, brings_ranks_together_by_torchruns_variables) {
  const auto port = std::to_string(free_port());
  join_all(
      2, "env://",
      [&](Rank rank) {
        return JoinOptions{.environment = {{"RANK", std::to_string(rank)},
                                           {"WORLD_SIZE", "2"},
                                           {"MASTER_ADDR", "localhost"},
                                           {"MASTER_PORT", port},
                                           {"GRADWIRE_SECRET", "0123456789abcdef"}}};
      },
      expect_to_see_each_other);
}

TEST(Join, finds_the_store_of_a_launcher) {
  const std::string secret = make_secret();
  const StoreServer server(listen_at(SocketAddress::loopback()), secret);
  join_all(
      2, "env://",
      [&](Rank rank) {
        return JoinOptions{.environment = {{"RANK", std::to_string(rank)},
                                           {"WORLD_SIZE", "2"},
                                           {"GRADWIRE_STORE", server.address().text() + "/0"},
                                           {"GRADWIRE_SECRET", secret}}};
      },
      expect_to_see_each_other);
}

TEST(Join, needs_nothing_for_a_world_of_one) {
  const auto world = join("env://", {.environment = {{"RANK", "0"}, {"WORLD_SIZE", "1"}}});
  EXPECT_EQ(world.size, 1);
  EXPECT_FALSE(world.secret.empty());
  leave(world);
}

TEST(Join, refuses_two_processes_that_claim_one_rank) {
  const std::string secret = make_secret();
  const StoreServer server(listen_at(SocketAddress::loopback()), secret);
  TcpStore earlier({{"127.0.0.1", server.address().port()}, secret, {}}, Deadline::after(60));
  earlier.add("joined/0", 1);
  earlier.set("process/0", "process 1 of host other");
  const JoinOptions options{.environment = {{"RANK", "0"},
                                            {"WORLD_SIZE", "2"},
                                            {"GRADWIRE_STORE", server.address().text()},
                                            {"GRADWIRE_SECRET", secret}}};
  EXPECT_THAT([&] { join("env://", options); },
              ThrowsMessage<ConfigError>(AllOf(HasSubstr("two processes say they are rank 0"),
                                               HasSubstr("process 1 of host other"))));
}

TEST(Join, gives_a_second_world_of_the_same_process_another_name) {
  const std::string secret = make_secret();
  const StoreServer server(listen_at(SocketAddress::loopback()), secret);
  const JoinOptions options{.environment = {{"RANK", "0"},
                                            {"WORLD_SIZE", "1"},
                                            {"GRADWIRE_STORE", server.address().text()},
                                            {"GRADWIRE_SECRET", secret}}};
  const auto first = join("env://", options), second = join("env://", options);
  EXPECT_EQ(first.name, "world");
  EXPECT_EQ(second.name, "world-2");
}

TEST(Join, refuses_ranks_that_were_told_different_sizes) {
  const TempDir directory;
  const auto url = "file://" + (directory.path() / "meet").string();
  const auto outcomes = run_threads(2, [&](const World& place) {
    const auto world =
        join(url, {.rank = place.rank, .size = 2 + place.rank, .timeout = 5, .environment = {}});
  });
  EXPECT_EQ(outcomes[1].error, "ConfigError");
  EXPECT_THAT(outcomes[1].text, HasSubstr("rank 1 was told of 3 ranks, but rank 0 of 2"));
}

TEST(Join, says_that_the_port_is_taken) {
  const auto listener = listen_at(SocketAddress::loopback());
  const auto url = "tcp://" + local_address(listener.get()).text() + "?rank=0&size=2";
  EXPECT_THAT(
      [&] {
        join(url, {.environment = {{"GRADWIRE_SECRET", "0123456789abcdef"}}});
      },
      ThrowsMessage<ConfigError>(AllOf(HasSubstr("in use"), HasSubstr("another port"))));
}

TEST(Join, refuses_urls_it_does_not_understand) {
  for (const char* url : {"", "nowhere", "udp://a:1", "tcp://", "file://", "env://x",
                          "tcp://a:1?rank=x&size=2", "tcp://a:1?rank=0&size=0", "tcp://a:1?color=red",
                          "tcp://a:1?rank=2&size=2", "tcp://a:1?rank=0", "tcp://a?rank=0&size=2"})
    EXPECT_THROW(join(url), ConfigError) << url;
  EXPECT_THROW(join("tcp://a:1?rank=0&size=2", {.rank = 1}), ConfigError);
}

TEST(Leave, waits_until_all_have_ended_their_work) {
  const TempDir directory;
  const auto url = "file://" + (directory.path() / "meet").string();
  expect_all_ok(run_threads(3, [&](const World& place) {
    const auto world = join(url, {.rank = place.rank, .size = 3, .environment = {}});
    for (int i = 0; i < 100 * place.rank; ++i) world.store->set("key", "value");
    world.store->add("ended", 1);
    leave(world);
  }));
}

TEST(Leave, names_a_rank_that_goes_without_a_word) {
  const TempDir directory;
  const auto url = "file://" + (directory.path() / "meet").string();
  const auto outcomes = run_threads(3, [&](const World& place) {
    const auto world = join(url, {.rank = place.rank, .size = 3, .environment = {}});
    if (place.rank != 1) leave(world);
  });
  for (const Rank rank : {0, 2}) EXPECT_EQ(outcomes[rank].error, "PeerLost") << describe(outcomes[rank]);
  EXPECT_EQ(outcomes[0].peer, 1) << describe(outcomes[0]);
}

TEST(Leave, names_a_rank_that_does_not_come_in_time) {
  const TempDir directory;
  const auto url = "file://" + (directory.path() / "meet").string();
  const auto world = join(url, {.rank = 0, .size = 1, .environment = {}});
  World larger = world;
  larger.size = 2;
  larger.timeout = 0.01;
  EXPECT_THAT([&] { leave(larger); },
              ThrowsMessage<Timeout>(HasSubstr("rank 0 has ended its work and waited 10 ms for rank 1")));
}

TEST(Cookie, is_made_once_and_kept_private) {
  const TempDir home;
  const Environment environment = {{"HOME", home.path().string()}};
  const auto secret = choose_secret(environment, "");
  EXPECT_EQ(secret.size(), 64U);
  EXPECT_EQ(choose_secret(environment, ""), secret);
  EXPECT_NE(choose_secret(environment, "job 1"), choose_secret(environment, "job 2"));
  const auto cookie = home.path() / ".gradwire-cookie";
  struct stat status {};
  ASSERT_EQ(::stat(cookie.c_str(), &status), 0);
  EXPECT_EQ(status.st_mode & 0777, 0600U);
  std::filesystem::permissions(cookie, std::filesystem::perms(0644));
  EXPECT_THAT([&] { choose_secret(environment, ""); }, ThrowsMessage<ConfigError>(HasSubstr("chmod 600")));
}

TEST(Cookie, is_the_same_for_processes_that_make_it_at_once) {
  const TempDir home;
  const Environment environment = {{"HOME", home.path().string()}};
  std::vector<std::string> secrets(8);
  expect_all_ok(
      run_threads(8, [&](const World& world) { secrets[world.rank] = choose_secret(environment, ""); }));
  for (const auto& secret : secrets) EXPECT_EQ(secret, secrets[0]);
  EXPECT_EQ(std::distance(std::filesystem::directory_iterator(home.path()), {}), 1) << "no draft is left";
}

TEST(Secret, must_not_be_short) {
  EXPECT_THAT(
      [] {
        choose_secret({{"GRADWIRE_SECRET", "abc"}}, "");
      },
      ThrowsMessage<ConfigError>(HasSubstr("GRADWIRE_SECRET has 3 characters")));
  EXPECT_THAT([] { choose_secret({}, ""); }, ThrowsMessage<ConfigError>(HasSubstr("HOME")));
}

}  // namespace
}  // namespace gradwire
