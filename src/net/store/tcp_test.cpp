#include "net/store/tcp.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/resource.h>
#include <unistd.h>

#include <csignal>
#include <thread>
#include <vector>

#include "base/error.h"
#include "base/files.h"
#include "net/address/socket.h"
#include "net/store/server.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

class StoreTest : public testing::Test {
 protected:
  TcpStore::Options options(Rank rank = -1, const std::string& space = "job") const {
    return {{"127.0.0.1", server_->address().port()}, "secret", {rank, space}};
  }
  std::unique_ptr<TcpStore> client(Rank rank = -1, const std::string& space = "job") const {
    return std::make_unique<TcpStore>(options(rank, space), Deadline::after(60));
  }

  std::unique_ptr<StoreServer> server_ =
      std::make_unique<StoreServer>(listen_at(SocketAddress::loopback()), "secret");
};

using TcpStoreTest = StoreTest;

void stop(pid_t process) {
  ::kill(process, SIGSTOP);
  const auto deadline = Deadline::after(60);
  while (read_file(fmt::format("/proc/{}/stat", process)).find(") T ") == std::string::npos &&
         !deadline.passed())
    std::this_thread::yield();
}

TEST_F(TcpStoreTest, gives_one_client_what_another_set) {
  const auto writer = client(), reader = client();
  const std::string value = std::string(1'000'000, 'x') + std::string("a\0b", 3);
  writer->set("key", value);
  EXPECT_EQ(reader->get("key", Deadline::after(60)), value);
  EXPECT_EQ(reader->find("key"), value);
  EXPECT_EQ(reader->find("other"), "");
}

TEST_F(TcpStoreTest, keeps_spaces_apart) {
  const auto left = client(-1, "left"), right = client(-1, "right");
  left->set("key", "1");
  EXPECT_EQ(right->find("key"), "");
  EXPECT_EQ(right->add("key", 5), 5);
  EXPECT_EQ(left->find("key"), "1");
}

TEST_F(TcpStoreTest, adds_up_over_all_clients_and_threads) {
  std::vector<std::thread> threads;
  const auto shared = client();
  for (int i = 0; i < 4; ++i)
    threads.emplace_back([&, own = client()] {
      for (int k = 0; k < 50; ++k) own->add("count", 1), shared->add("count", 1);
    });
  for (auto& thread : threads) thread.join();
  EXPECT_EQ(shared->add("count", 0), 400);
}

TEST_F(TcpStoreTest, takes_the_first_offer_and_wakes_who_waits_for_it) {
  const auto store = client(), other = client();
  std::string value;
  std::thread waiting([&] { value = other->get("key", Deadline::after(60)); });
  EXPECT_EQ(store->offer("key", "first"), "first");
  waiting.join();
  EXPECT_EQ(value, "first");
  EXPECT_EQ(other->offer("key", "second"), "first");
  EXPECT_EQ(other->find("key"), "first");
}

TEST_F(TcpStoreTest, lets_one_thread_work_while_another_waits) {
  const auto store = client();
  std::string value;
  std::thread waiting([&] { value = store->get("late", Deadline::after(60)); });
  for (int i = 0; i < 100; ++i) store->set("key", std::to_string(i));
  store->set("late", "here");
  waiting.join();
  EXPECT_EQ(value, "here");
}

// Rank 0 hosts the store and is stopped; what is asked then waits as long as the timeout, once. So rank 1 can't leave either.
TEST(TcpStoreOfRanks, waits_once_for_a_host_that_does_not_answer) {
  constexpr Seconds kTimeout = 3;
  const auto outcomes = run_processes(
      2,
      [](const World& world) {
        if (world.rank == 0) {
          world.store->set("host", std::to_string(::getpid()));
          ::pause();
        }
        stop(std::stoi(world.store->get("host", Deadline::after(60))));
        const auto twice = Deadline::after(2 * kTimeout);
        EXPECT_THROW(world.store->get("key of nobody", Deadline::after(kTimeout)), Timeout);
        EXPECT_FALSE(twice.passed());
        const auto again = Deadline::after(kTimeout / 2);
        EXPECT_THROW(world.store->set("key", "value"), Timeout);
        EXPECT_THROW(world.store->find("key"), Timeout);
        EXPECT_THROW(get_from(*world.store, 0, "key of nobody", Deadline::after(kTimeout)), Timeout);
        EXPECT_FALSE(again.passed());
        ::_exit(testing::Test::HasFailure() ? 1 : 0);
      },
      {.timeout = kTimeout});
  EXPECT_EQ(outcomes[1].kind, Outcome::Kind::exited) << describe(outcomes[1]);
  EXPECT_EQ(outcomes[1].code, 0);
}

// What the sockets between them don't take waits with the client, whole, until the host reads again.
TEST(TcpStoreOfRanks, goes_on_with_a_host_that_did_not_answer_for_a_while) {
  const auto outcomes = run_processes(2, [](const World& world) {
    if (world.rank == 0) {
      world.store->set("host", std::to_string(::getpid()));
      return;
    }
    const auto host = std::stoi(world.store->get("host", Deadline::after(60)));
    const std::string large(12 << 20, 'x');
    stop(host);
    EXPECT_THROW(world.store->find("host", Deadline::after(0.1)), Timeout);
    EXPECT_THROW(world.store->set("large", large, Deadline::after(0.1)), Timeout);
    EXPECT_THROW(world.store->offer("first", "mine", Deadline::after(0.1)), Timeout);
    ::kill(host, SIGCONT);
    EXPECT_EQ(world.store->offer("first", "another"), "mine");
    EXPECT_EQ(world.store->find("large"), large);
  });
  for (const auto& outcome : outcomes) EXPECT_TRUE(outcome.ok()) << describe(outcome);
}

TEST_F(TcpStoreTest, goes_on_after_a_get_that_nobody_answered) {
  const auto store = client();
  EXPECT_THAT([&] { store->get("never", Deadline::after(0.01)); },
              ThrowsMessage<Timeout>(HasSubstr("'never'")));
  store->set("never", "now");
  EXPECT_EQ(store->get("never", Deadline::after(60)), "now");
}

TEST_F(TcpStoreTest, finds_a_key_that_exists_however_late_it_is) {
  const auto store = client();
  store->set("key", "value");
  for (int i = 0; i < 100; ++i) EXPECT_EQ(store->get("key", Deadline::after(0)), "value");
}

TEST_F(TcpStoreTest, says_what_is_wrong_with_a_sum) {
  const auto store = client();
  store->set("key", "seven");
  EXPECT_THAT([&] { store->add("key", 1); }, ThrowsMessage<Error>(HasSubstr("'seven'")));
  EXPECT_EQ(store->find("key"), "seven");
}

TEST_F(TcpStoreTest, refuses_a_value_no_frame_can_hold) {
  const auto store = client();
  EXPECT_THAT([&] { store->set("key", std::string(20 << 20, 'x')); },
              ThrowsMessage<Error>(HasSubstr("16 MiB")));
  EXPECT_EQ(store->find("key"), "");
}

TEST_F(TcpStoreTest, tells_who_is_gone_without_a_goodbye) {
  const auto observer = client(0);
  client(1).reset();
  EXPECT_THAT(observer->get("lost/1", Deadline::after(60)), HasSubstr("closed"));
  EXPECT_THAT([&] { get_from(*observer, 1, "key", Deadline::after(60)); },
              ThrowsMessage<PeerLost>(HasSubstr("rank 1")));
  EXPECT_EQ(observer->find("lost/0"), "");
}

TEST_F(TcpStoreTest, does_not_miss_who_said_goodbye) {
  const auto observer = client(0);
  auto leaver = client(1);
  leaver->set("left/1", "bye");
  leaver.reset();
  client(2).reset();
  observer->get("lost/2", Deadline::after(60));
  EXPECT_EQ(observer->find("lost/1"), "");
}

TEST_F(TcpStoreTest, says_that_the_store_is_gone_and_who_hosted_it) {
  const auto anonymous = client();
  auto hosted = options(1);
  hosted.host = 0;
  TcpStore store(hosted, Deadline::after(60));
  std::thread waiting([&] {
    EXPECT_THAT([&] { store.get("key", Deadline::after(60)); }, ThrowsMessage<PeerLost>(HasSubstr("rank 0")));
  });
  server_.reset();
  waiting.join();
  EXPECT_THROW(store.set("key", "value"), PeerLost);
  EXPECT_THROW(anonymous->set("key", "value"), TransportError);
}

TEST_F(TcpStoreTest, waits_for_a_server_that_comes_later) {
  auto options = this->options();
  auto listener = listen_at(SocketAddress::loopback());
  const auto address = local_address(listener.get());
  options.server.port = address.port();
  listener.reset();
  std::thread late([&] {
    TcpStore store(options, Deadline::after(60));
    store.set("key", "value");
  });
  const StoreServer server(listen_at(address), "secret");
  EXPECT_EQ(TcpStore(options, Deadline::after(60)).get("key", Deadline::after(60)), "value");
  late.join();
}

TEST_F(TcpStoreTest, says_why_no_server_was_reached) {
  auto options = this->options();
  server_.reset();
  EXPECT_THAT([&] { TcpStore(options, Deadline::after(0)); },
              ThrowsMessage<Timeout>(AllOf(HasSubstr("127.0.0.1:"), HasSubstr("refused"))));
}

TEST_F(TcpStoreTest, waiting_costs_no_time_of_a_core) {
  const auto store = client();
  const auto used = [] {
    rusage usage{};
    getrusage(RUSAGE_THREAD, &usage);
    return usage.ru_nvcsw + usage.ru_nivcsw;
  };
  const auto before = used();
  EXPECT_THROW(store->get("never", Deadline::after(0.3)), Timeout);
  EXPECT_LT(used() - before, 50) << "a wait that polls wakes up again and again";
}

}  // namespace
}  // namespace gradwire
