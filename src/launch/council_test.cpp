#include "launch/council.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>

#include "base/error.h"
#include "net/address/socket.h"

namespace gradwire {
namespace {

using testing::HasSubstr;
using testing::ThrowsMessage;

CouncilOptions node(int number, int nodes, std::uint16_t port) {
  CouncilOptions options;
  options.nodes = nodes;
  options.node = number;
  options.master = HostPort{"127.0.0.1", port};
  options.secret = "secret";
  options.max_restarts = number == 0 ? 3 : 0;
  options.timeout = 60;
  return options;
}

std::uint16_t free_port() { return local_address(listen_at(SocketAddress::loopback()).get()).port(); }

TEST(Council, of_one_needs_nobody) {
  CouncilOptions options;
  options.secret = "secret";
  Council council(options);
  const auto seating = council.begin(0, 4);
  EXPECT_EQ(seating.first_rank, 0);
  EXPECT_EQ(seating.size, 4);
  EXPECT_FALSE(council.find_failure(0));
  council.report_end(0);
  EXPECT_TRUE(council.has_ended(0));
  council.leave();
}

TEST(Council, seats_the_ranks_of_all_nodes_in_their_order) {
  const auto port = free_port();
  std::vector<Seating> seatings(3);
  std::vector<std::thread> nodes;
  for (int number = 0; number < 3; ++number)
    nodes.emplace_back([&, number] {
      Council council(node(number, 3, port));
      seatings[number] = council.begin(0, number + 1);
      council.leave();
    });
  for (auto& thread : nodes) thread.join();
  EXPECT_EQ(seatings[0].first_rank, 0);
  EXPECT_EQ(seatings[1].first_rank, 1);
  EXPECT_EQ(seatings[2].first_rank, 3);
  for (const auto& seating : seatings) {
    EXPECT_EQ(seating.size, 6);
    EXPECT_EQ(seating.max_restarts, 3) << "node 0's counts";
    EXPECT_EQ(seating.master_port, seatings[0].master_port);
    EXPECT_EQ(seating.store, fmt::format("127.0.0.1:{}/0", port));
  }
}

TEST(Council, agrees_on_the_first_failure) {
  const auto port = free_port();
  Council first(node(0, 2, port)), second(node(1, 2, port));
  second.report_failure(0, {7, "rank 3 exited with code 7"});
  first.report_failure(0, {1, "rank 0 lost it"});
  for (auto* council : {&first, &second}) {
    EXPECT_EQ(council->find_failure(0)->exit_code, 7);
    EXPECT_EQ(council->find_failure(0)->text, "rank 3 exited with code 7");
    EXPECT_FALSE(council->find_failure(0)->final);
    EXPECT_FALSE(council->find_failure(1));
  }
  first.report_end(0);
  EXPECT_FALSE(second.has_ended(0));
  second.report_end(0);
  EXPECT_TRUE(first.has_ended(0));
}

TEST(Council, notices_a_launcher_that_is_gone) {
  const auto port = free_port();
  Council first(node(0, 2, port));
  { const Council second(node(1, 2, port)); }
  const auto deadline = Deadline::after(60);
  std::optional<Failure> failure;
  while (!failure && !deadline.passed()) failure = first.find_failure(0);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the launcher of node 1 is gone");
  EXPECT_TRUE(failure->final);
  EXPECT_TRUE(first.has_ended(0));
}

TEST(Council, names_the_node_that_did_not_come) {
  auto options = node(0, 2, free_port());
  options.timeout = 1;  // in which it reaches its own store, on busy cores too
  Council council(options);
  EXPECT_THAT([&] { council.begin(0, 1); }, ThrowsMessage<Timeout>(HasSubstr("--node-rank 1")));
}

}  // namespace
}  // namespace gradwire
