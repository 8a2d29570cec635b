#include "launch/council.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <unistd.h>

#include <csignal>
#include <thread>

#include "base/error.h"
#include "launch/forked_rank.h"
#include "net/address/socket.h"
#include "net/store/tcp.h"

namespace gradwire {
namespace {

using testing::_;
using testing::AllOf;
using testing::HasSubstr;
using testing::Not;
using testing::Property;
using testing::Throws;
using testing::ThrowsMessage;
using testing::WhenDynamicCastTo;

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

// Each waits for the other.
std::pair<Seating, Seating> begin_both(Council& first, Council& second) {
  Seating of_second;
  std::thread other([&] { of_second = second.begin(2).value(); });
  const Seating of_first = first.begin(1).value();
  other.join();
  return {of_first, of_second};
}

TEST(Council, of_one_needs_nobody) {
  CouncilOptions options;
  options.secret = "secret";
  Council council(options);
  const auto seating = council.begin(4).value();
  EXPECT_EQ(seating.first_rank, 0);
  EXPECT_EQ(seating.size, 4);
  EXPECT_FALSE(council.find_failure(0));
  council.report_end(0);
  EXPECT_TRUE(council.has_ended(0));
  EXPECT_FALSE(council.conclude(0));
  council.say_goodbye();
  EXPECT_FALSE(council.is_needed());
}

TEST(Council, seats_the_ranks_of_all_nodes_in_their_order) {
  const auto port = free_port();
  std::vector<Seating> seatings(3);
  std::vector<std::thread> nodes;
  for (int number = 0; number < 3; ++number)
    nodes.emplace_back([&, number] {
      Council council(node(number, 3, port));
      seatings[number] = council.begin(number + 1).value();
      council.say_goodbye();
      while (council.is_needed()) std::this_thread::yield();
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
  begin_both(first, second);
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

TEST(Council, does_not_take_back_that_all_is_well) {
  const auto port = free_port();
  Council first(node(0, 2, port)), second(node(1, 2, port));
  begin_both(first, second);
  first.report_end(0);
  second.report_end(0);
  EXPECT_FALSE(first.conclude(0));
  second.report_failure(0, {143, "interrupted by SIGTERM", true});
  for (auto* council : {&first, &second}) EXPECT_FALSE(council->conclude(0));
}

// As the ranks of an attempt write it.
void end_work(std::uint16_t port, const std::string& attempt, Rank rank, const std::string& how) {
  TcpStore({{"127.0.0.1", port}, "secret", {-1, attempt}}, Deadline::after(60))
      .set(fmt::format("done/{}", rank), how);
}

TEST(Council, takes_work_that_is_done_for_done_whatever_becomes_of_a_launcher) {
  const auto port = free_port();
  Council first(node(0, 2, port));
  {
    Council second(node(1, 2, port));
    begin_both(first, second);
  }
  first.report_end(0);
  for (const Rank rank : {0, 1}) end_work(port, "0", rank, "done");
  end_work(port, "0", 2, "unfinished");
  EXPECT_TRUE(first.needs_nobody(2));
  EXPECT_FALSE(first.all_work_is_done());
  end_work(port, "0", 2, "done");
  EXPECT_TRUE(first.all_work_is_done());
  EXPECT_FALSE(first.conclude(0));
}

// Node 0 in a process of its own, which is stopped when node 1 has begun.
class StoppedHost {
 public:
  explicit StoppedHost(Seconds timeout) {
    auto zero = node(0, 2, free_port()), one = node(1, 2, zero.master->port);
    zero.timeout = one.timeout = timeout;
    host_.emplace(0, [zero] {
      return run_guarded(0, [&] {
        Council council(zero);
        council.begin(1);
        ::pause();
      });
    });
    second_.emplace(one);
    second_->begin(1);
    host_->signal(SIGSTOP);
    const auto deadline = Deadline::after(60);
    while (!host_->find_stop() && !deadline.passed()) std::this_thread::yield();
  }
  Council& second() { return *second_; }
  void go_on() { host_->signal(SIGCONT); }

 private:
  std::optional<ForkedRank> host_;
  std::optional<Council> second_;
};

// What a council says when it is asked until the store answers, or is given up.
template <typename Question>
auto insist(const Question& question) {
  for (;;) {
    try {
      return question();
    } catch (const StoreSilent&) {
    }
  }
}

TEST(Council, may_be_asked_again_while_the_store_does_not_answer) {
  StoppedHost host(60);
  Council& second = host.second();
  EXPECT_THROW(second.has_done_its_work(0), StoreSilent);
  EXPECT_THROW(second.report_failure(0, {7, "rank 1 exited with code 7"}), StoreSilent);
  host.go_on();
  insist([&] { second.report_failure(0, {1, "another"}); });
  EXPECT_EQ(insist([&] { return second.find_failure(0)->text; }), "rank 1 exited with code 7")
      << "what was said in vain was heard";
}

TEST(Council, gives_a_store_up_that_has_not_answered_for_the_timeout) {
  StoppedHost host(2);
  Council& second = host.second();
  EXPECT_THROW(insist([&] { return second.find_failure(0); }), TransportError);
  EXPECT_FALSE(second.has_done_its_work(1)) << "what one connection asked in vain the other need not ask";
}

TEST(Council, notices_a_launcher_that_is_gone) {
  const auto port = free_port();
  Council first(node(0, 2, port));
  {
    Council second(node(1, 2, port));
    begin_both(first, second);
  }
  const auto deadline = Deadline::after(60);
  std::optional<Failure> failure;
  while (!failure && !deadline.passed()) failure = first.find_failure(0);
  ASSERT_TRUE(failure);
  EXPECT_EQ(failure->text, "the launcher of node 1 is gone");
  EXPECT_FALSE(failure->final) << "it may come back";
  EXPECT_TRUE(first.has_ended(0));
  EXPECT_EQ(first.conclude(0)->text, "the launcher of node 1 is gone");
}

TEST(Council, goes_on_without_a_node_and_takes_it_back) {
  const auto port = free_port();
  auto zero = node(0, 2, port), one = node(1, 2, port);
  zero.least = one.least = 1;
  Council first(zero);
  {
    Council second(one);
    EXPECT_EQ(begin_both(first, second).second.first_rank, 1);
  }
  const Seating alone = first.begin(1).value();
  EXPECT_EQ(alone.attempt, 1);
  EXPECT_EQ(describe(alone.roster), "node 0 (1 rank)");
  Council again(one);
  const auto [of_first, of_again] = begin_both(first, again);
  EXPECT_EQ(of_again.attempt, 2) << "the generation it joins, not the first of its own";
  EXPECT_EQ(of_again.size, 3);
  EXPECT_EQ(of_first.roster.entries, of_again.roster.entries);
}

TEST(Council, tells_a_launcher_that_came_too_late_that_the_job_has_ended_well) {
  const auto port = free_port();
  auto zero = node(0, 2, port), one = node(1, 2, port);
  zero.least = one.least = 1;
  Council first(zero);
  first.begin(1);
  Council spare(one);
  std::thread waiting([&] { EXPECT_FALSE(spare.begin(1)); });
  first.report_end(0);
  EXPECT_FALSE(first.conclude(0));
  EXPECT_TRUE(first.is_needed());
  first.say_goodbye();
  waiting.join();
  EXPECT_FALSE(first.is_needed());
}

// What would let it try to come back is a TransportError.
TEST(Council, tells_a_launcher_that_came_too_late_that_the_job_has_failed) {
  const auto port = free_port();
  auto zero = node(0, 2, port), one = node(1, 2, port);
  zero.least = one.least = 1;
  Council first(zero);
  first.begin(1);
  Council spare(one);
  first.report_failure(0, {7, "rank 0 exited with code 7", true});
  first.say_goodbye();
  EXPECT_THAT([&] { spare.begin(1); },
              Throws<Error>(AllOf(Property(&Error::what, HasSubstr("has failed without this node")),
                                  Not(WhenDynamicCastTo<const TransportError&>(_)))));
}

TEST(Council, lets_a_launcher_that_was_cut_off_take_part_again) {
  const auto port = free_port();
  Council first(node(0, 2, port)), second(node(1, 2, port));
  begin_both(first, second);
  std::thread other([&] {
    second.rejoin();
    second.begin(2);
  });
  const auto deadline = Deadline::after(60);
  const auto text = [&] { return first.find_failure(0).value_or(Failure{}).text; };
  while (text() != "the launcher of node 1 has begun anew" && !deadline.passed()) std::this_thread::yield();
  EXPECT_EQ(text(), "the launcher of node 1 has begun anew") << "for a moment it was gone";
  EXPECT_TRUE(first.has_ended(0)) << "nobody waits for the end of what it let go";
  EXPECT_EQ(first.begin(1).value().attempt, 1);
  other.join();
  EXPECT_FALSE(first.find_failure(1));
}

TEST(Council, refuses_a_second_launcher_for_a_node_that_has_one) {
  const auto port = free_port();
  const Council first(node(0, 2, port)), second(node(1, 2, port));
  EXPECT_THAT([&] { const Council third(node(1, 2, port)); },
              ThrowsMessage<ConfigError>(HasSubstr("node 1 of the job")));
}

TEST(Council, names_the_node_that_did_not_come) {
  auto options = node(0, 2, free_port());
  options.timeout = 1;  // in which it reaches its own store, on busy cores too
  Council council(options);
  EXPECT_THAT([&] { council.begin(1); }, ThrowsMessage<Timeout>(HasSubstr("--node-rank 1")));
}

}  // namespace
}  // namespace gradwire
