// The order of gradients in checkpoints. Over tcp the sums of three ranks are rounded by where in which bucket a number lies:
// a resumed run that cut its first buckets in another way would not be equal to the bit.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "base/files.h"
#include "train/loop/ddp_run_fixture.h"

namespace gradwire {
namespace {

using testing::IsEmpty;
using testing::UnorderedElementsAreArray;

constexpr int kSteps = 8;
// Matrices of 1.6 MB, which go round a ring; what is small is added up in the order of the ranks.
constexpr int kWide = 640;

std::vector<std::string> names_in(const TrainingState& state) {
  std::vector<std::string> names;
  for (const auto& parameter : state.model.parameters) names.push_back(parameter.name);
  return names;
}

class Resumed : public testing::TestWithParam<const char*> {};

TEST_P(Resumed, runs_of_three_ranks_are_equal_to_the_bit) {
  const TempDir directory;
  run_ddp(3, GetParam(), [&](const World& world, Communicator& communicator) {
    const auto path = [&](int step, bool sharded) {
      return directory.path() / (std::to_string(step) + (sharded ? " sharded" : ""));
    };
    DdpRun whole(world, communicator, nullptr, kWide);
    for (int step = 1; step <= kSteps; ++step) {
      whole.train(step - 1, step);
      for (const bool sharded : {false, true}) whole.save(path(step, sharded), step, sharded);
    }
    for (const bool sharded : {false, true})
      for (const int step : {1, 2, 5}) {
        DdpRun resumed(world, communicator, nullptr, kWide);
        EXPECT_EQ(resumed.load(path(step, sharded)), step);
        resumed.train(step, kSteps);
        EXPECT_TRUE(torch::equal(resumed.learnt(), whole.learnt())) << "resumed after step " << step;
        EXPECT_EQ(resumed.ddp().buckets(), whole.ddp().buckets());
      }
  });
}

INSTANTIATE_TEST_SUITE_P(OrderCheckpoint, Resumed, testing::Values("shm", "tcp", "shm+tcp"),
                         [](const auto& test) {
                           return std::string(test.param) == "shm+tcp" ? "shm_tcp" : std::string(test.param);
                         });

// Else the test above would show nothing.
TEST(OrderCheckpoint, without_the_order_three_ranks_over_tcp_round_differently) {
  const TempDir directory;
  run_ddp(3, "tcp", [&](const World& world, Communicator& communicator) {
    DdpRun whole(world, communicator, nullptr, kWide);
    whole.train(0, 2);
    whole.save(directory.path() / "c", 2);
    whole.train(2, kSteps);
    DdpRun resumed(world, communicator, nullptr, kWide);
    load_checkpoint(directory.path() / "c", resumed.state(), communicator);
    resumed.train(2, kSteps);
    EXPECT_FALSE(torch::equal(resumed.learnt(), whole.learnt()));
    EXPECT_TRUE(torch::allclose(resumed.learnt(), whole.learnt(), 1e-3, 1e-5));
  });
}

TEST(OrderCheckpoint, of_one_rank_serves_two) {
  const TempDir directory;
  run_ddp(1, "shm", [&](const World& world, Communicator& communicator) {
    DdpRun run(world, communicator);
    EXPECT_THAT(run.ddp().gradient_order(), IsEmpty()) << "nothing has been learnt of it yet";
    run.train(0, 1);
    EXPECT_THAT(run.ddp().gradient_order(), UnorderedElementsAreArray(names_in(run.state())));
    run.save(directory.path() / "c", 1, false);
  });
  run_ddp(2, "shm", [&](const World& world, Communicator& communicator) {
    DdpRun run(world, communicator);
    run.load(directory.path() / "c");
    EXPECT_EQ(run.ddp().gradient_order().front(), "last.bias") << "what is used last has the first gradient";
    const auto before = run.ddp().buckets();
    run.ddp().forward(make_batch().input);
    EXPECT_NE(run.ddp().buckets(), before) << "it is followed from the first forward on";
  });
}

TEST(OrderCheckpoint, of_other_parameters_is_ignored) {
  run_ddp(1, "shm", [](const World& world, Communicator& communicator) {
    DdpRun run(world, communicator);
    auto names = names_in(run.state());
    auto fewer = names, twice = names, more = names, other = names;
    fewer.pop_back();
    twice.back() = twice.front();
    more.push_back("another");
    other.back() = "another";
    for (const auto& wrong : {fewer, twice, more, other, std::vector<std::string>()}) {
      run.ddp().restore_gradient_order(wrong);
      EXPECT_THAT(run.ddp().gradient_order(), IsEmpty());
    }
    run.ddp().restore_gradient_order(names);
    EXPECT_EQ(run.ddp().gradient_order(), names);
  });
}

}  // namespace
}  // namespace gradwire
