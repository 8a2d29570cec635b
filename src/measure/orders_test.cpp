// How long ranks wait for orders of who is stopped.
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/error.h"
#include "launch/forked_rank.h"
#include "measure/contestant.h"
#include "measure/sampler.h"
#include "net/address/socket.h"
#include "net/store/memory.h"
#include "net/store/server.h"
#include "net/store/tcp.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

World second_of_two(std::shared_ptr<Store> store, Seconds timeout) {
  World world;
  world.rank = 1;
  world.size = 2;
  world.timeout = timeout;
  world.store = std::move(store);
  return world;
}

TEST(Orders, are_not_awaited_for_long_of_a_rank_0_that_is_stopped) {
  const auto world = second_of_two(std::make_shared<MemoryStore>(), 0.05);
  EXPECT_THAT([&] { follow_job(world, {}); }, ThrowsMessage<Timeout>(HasSubstr("rank 0 did not come")));
}

TEST(Orders, are_not_awaited_of_a_bench_that_is_stopped) {
  Fd listener = listen_at(SocketAddress::loopback());
  const auto address = local_address(listener.get());
  ForkedRank bench(0, [&] {
    return run_guarded(0, [&] {
      const StoreServer server(std::move(listener), "secret");
      for (;;) ::pause();
    });
  });
  TcpStore::Options client{{address.host(), address.port()}, "secret", {}};
  client.timeout = 0.2;
  const auto world = second_of_two(std::make_shared<TcpStore>(client, Deadline::after(60)), client.timeout);
  bench.signal(SIGSTOP);
  const auto deadline = Deadline::after(60);
  while (!bench.find_stop() && !deadline.passed()) std::this_thread::yield();
  EXPECT_THROW(await_order(world, 0), Timeout);
}

}  // namespace
}  // namespace gradwire
