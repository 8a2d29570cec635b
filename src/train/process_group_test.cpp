#include "train/process_group.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/error.h"
#include "comm/make.h"
#include "support/error_of.h"
#include "support/run_ranks.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

void on_three_ranks(const std::function<void(Communicator&, Rank)>& act) {
  for (const std::string backend : {"shm", "tcp"})
    expect_all_ok(run_threads(3, [&](const World& world) {
      const auto communicator = make_communicator(world, backend);
      act(*communicator, world.rank);
      communicator->run(barrier());
    }));
}

TEST(ProcessGroup, reduces_and_moves_tensors_as_it_does_bytes) {
  on_three_ranks([](Communicator& group, Rank me) {
    auto sum = torch::full({4, 2}, me + 1.0, torch::kFloat64);
    group.run(all_reduce(sum, Reduction::avg));
    EXPECT_TRUE(torch::equal(sum, torch::full({4, 2}, 2.0, torch::kFloat64)));
    auto largest = torch::full({3}, me, torch::kInt32);
    group.run(reduce(largest, 1, Reduction::max));
    EXPECT_TRUE(torch::equal(largest, torch::full({3}, me == 1 ? 2 : me, torch::kInt32)))
        << "the root's alone";
    auto mask = torch::full({5}, me == 2, torch::kBool);
    group.run(broadcast(mask, 2));
    EXPECT_TRUE(mask.all().item<bool>());
    auto all = torch::empty({3, 2}, torch::kInt64);
    group.run(all_gather(torch::full({2}, me, torch::kInt64), all));
    EXPECT_TRUE(torch::equal(all, torch::arange(3).unsqueeze(1).expand({3, 2})));
    auto swapped = torch::empty({3, 2}, torch::kInt64);
    const auto to_each = 10 * me + torch::arange(3).unsqueeze(1).expand({3, 2}).contiguous();
    group.run(all_to_all(to_each, swapped));
    EXPECT_TRUE(torch::equal(swapped, 10 * all + me));
  });
}

// Rank r gives rank s so many rows: r + s.
TEST(ProcessGroup, exchanges_rows_of_any_number_between_all) {
  on_three_ranks([](Communicator& group, Rank me) {
    const Rows rows = {me, me + 1, me + 2};
    std::vector<torch::Tensor> given, expected;
    for (Rank peer = 0; peer < 3; ++peer) {
      given.push_back(torch::full({me + peer, 2}, 10.0 * me + peer));
      expected.push_back(torch::full({me + peer, 2}, 10.0 * peer + me));
    }
    auto got = torch::empty({3 * me + 3, 2});
    group.run(all_to_all(torch::cat(given), got, rows, rows));
    EXPECT_TRUE(torch::equal(got, torch::cat(expected)));
  });
}

TEST(ProcessGroup, gives_every_rank_as_many_rows_as_it_is_said_to_have) {
  const Rows rows = {2, 0, 3};
  on_three_ranks([&](Communicator& group, Rank me) {
    const auto whole = torch::arange(10, torch::kFloat32).reshape({5, 2});
    const auto mine = whole.split_with_sizes(rows, 0)[me].contiguous();
    auto gathered = torch::empty({5, 2}), part = torch::empty_like(mine);
    group.run(all_gather(mine, gathered, rows));
    EXPECT_TRUE(torch::equal(gathered, whole));
    group.run(reduce_scatter(whole, part, Reduction::sum, rows));
    EXPECT_TRUE(torch::equal(part, 3 * mine));
    group.run(scatter(me == 1 ? whole : torch::Tensor(), part, 1, me == 1 ? rows : Rows()));
    EXPECT_TRUE(torch::equal(part, mine));
    gathered.zero_();
    group.run(gather(mine, me == 0 ? gathered : torch::Tensor(), 0, me == 0 ? rows : Rows()));
    EXPECT_EQ(torch::equal(gathered, whole), me == 0);
  });
}

TEST(ProcessGroup, sends_tensors_round_the_ranks) {
  on_three_ranks([](Communicator& group, Rank me) {
    const auto mine = torch::full({1000, 100}, me);
    auto theirs = torch::empty_like(mine);
    group.run(exchange({message_to((me + 1) % 3, mine, 4), message_from((me + 2) % 3, theirs, 4)}));
    EXPECT_TRUE((theirs == (me + 2) % 3).all().item<bool>());
    if (me == 0) group.run(send(mine, 2));
    if (me == 2) group.run(recv(theirs, 0));
    EXPECT_TRUE((theirs == (me == 2 ? 0 : (me + 2) % 3)).all().item<bool>());
  });
}

TEST(ProcessGroup, says_what_to_write_for_a_tensor_with_gaps) {
  EXPECT_THAT(error_of([] { send(torch::zeros({4, 4}).t(), 0); }), HasSubstr("write tensor.contiguous()"));
  EXPECT_THAT(error_of([] { all_reduce(torch::zeros({4}, torch::kBool)); }), HasSubstr("Bool"));
}

}  // namespace
}  // namespace gradwire
