#include "train/ddp.h"

#include <gmock/gmock.h>

#include <cstdlib>
#include <filesystem>

#include "net/rendezvous/rendezvous.h"
#include "support/session.h"
#include "train/ddp_fixture.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

struct Setting {
  torch::ScalarType type = torch::kFloat32;
  DdpOptions options = {};
};

std::vector<Setting> all_settings() {
  std::vector<Setting> settings;
  for (const auto type : {torch::kFloat32, torch::kFloat64})
    for (const Bytes cap : {Bytes{1}, Bytes{600}, Bytes{25} << 20})
      for (const auto overlap : {Overlap::during_backward, Overlap::after_backward})
        settings.push_back({type, {.first_bucket_bytes = cap, .bucket_bytes = cap, .overlap = overlap}});
  return settings;
}

// Two steps, so that the buckets of the second are those in observed order.
void expect_gradients_of_the_whole_batch(const Setting& setting, const World& world,
                                         Communicator& communicator) {
  auto alone = make_model(setting.type);
  DistributedDataParallel ddp(make_model(setting.type), communicator, setting.options);
  for (std::uint64_t step = 0; step < 2; ++step) {
    const auto batch = make_batch(setting.type, 24, step), mine = batch.part(world.rank, world.size);
    alone->zero_grad();
    loss_of(alone->forward(batch.input), batch.target).backward();
    ddp->zero_grad();
    loss_of(ddp.forward(mine.input), mine.target).backward();
    EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), tolerance(setting.type))
        << "step " << step << ", bucket " << setting.options.bucket_bytes << ", rank " << world.rank;
  }
}

class DdpOnBackend : public testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(DdpOnBackend, gives_the_gradients_of_the_whole_batch) {
  const auto& [backend, ranks] = GetParam();
  run_ddp(ranks, backend, [](const World& world, Communicator& communicator) {
    for (const auto& setting : all_settings())
      expect_gradients_of_the_whole_batch(setting, world, communicator);
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, DdpOnBackend,
                         testing::Combine(testing::Values("shm", "tcp", "gloo"), testing::Values(1, 2, 3, 4)),
                         [](const auto& which) {
                           return std::get<0>(which.param) + "_" + std::to_string(std::get<1>(which.param)) +
                                  "_ranks";
                         });

// Plays two parts: started by itself it starts mpirun, started by mpirun it is a rank.
TEST(DdpUnderMpi, gives_the_gradients_of_the_whole_batch) {
  if (std::getenv("OMPI_COMM_WORLD_SIZE") != nullptr) {
    torch::set_num_threads(1);
    const auto world = join();
    const auto communicator = make_communicator(world, "mpi");
    for (const auto& setting : all_settings())
      expect_gradients_of_the_whole_batch(setting, world, *communicator);
    communicator->run(barrier());
    return leave(world);
  }
  const std::string self = std::filesystem::read_symlink("/proc/self/exe").string();
  Session mpirun({"mpirun.openmpi", "--oversubscribe", "-n", "2", self, "--gtest_filter=DdpUnderMpi.*"},
                 {{"OMPI_ALLOW_RUN_AS_ROOT", "1"}, {"OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1"}});
  EXPECT_EQ(mpirun.finish(), 0) << mpirun.text();
}

class DdpOver : public testing::TestWithParam<std::string> {};

TEST_P(DdpOver, keeps_parameters_bit_identical_for_a_hundred_steps) {
  run_ddp(3, GetParam(), [](const World& world, Communicator& communicator) {
    torch::manual_seed(static_cast<std::uint64_t>(world.rank));  // every rank begins with a model of its own
    auto model = std::make_shared<Net>();
    DistributedDataParallel ddp(model, communicator, {.first_bucket_bytes = 300, .bucket_bytes = 600});
    expect_identical(communicator, ddp.parameters());
    torch::optim::Adam optimizer(ddp.parameters(), 0.01);
    for (std::uint64_t step = 0; step < 100; ++step) {
      const auto mine = make_batch(torch::kFloat32, 24, step).part(world.rank, world.size);
      step % 2 == 0 ? ddp.zero_grad() : optimizer.zero_grad();
      loss_of(ddp.forward(mine.input), mine.target).backward();
      optimizer.step();
    }
    expect_identical(communicator, ddp.parameters());
  });
}

INSTANTIATE_TEST_SUITE_P(Backends, DdpOver, testing::Values("shm", "tcp", "gloo", "shm+tcp"),
                         [](const auto& which) {
                           return which.param == "shm+tcp" ? "shm_and_tcp" : which.param;
                         });

TEST(Ddp, makes_gradients_views_of_its_buckets_and_keeps_them_so) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    DistributedDataParallel ddp(make_model(), communicator);
    torch::optim::SGD optimizer(ddp.parameters(), 0.1);
    const auto mine = make_batch().part(world.rank, world.size);
    std::vector<void*> places;
    for (int step = 0; step < 5; ++step) {
      optimizer.zero_grad();
      if (step == 3)
        for (auto& parameter : ddp.parameters())
          parameter.mutable_grad().reset();  // as optimizers of libtorch 2 do
      loss_of(ddp.forward(mine.input), mine.target).backward();
      std::vector<void*> now;
      for (const auto& parameter : ddp.parameters()) now.push_back(parameter.grad().data_ptr());
      if (step > 1) {
        EXPECT_EQ(now, places);
      }
      places = now;
    }
    EXPECT_EQ(ddp.parameters()[0].grad().storage().data_ptr().get(), places[0]);
  });
}

TEST(Ddp, fills_buckets_in_the_order_in_which_gradients_came) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    // Registered first to last, used last to first: gradients come in registration order.
    struct Backwards : torch::nn::Module {
      torch::nn::Linear a = register_module("a", torch::nn::Linear(3, 3));
      torch::nn::Linear b = register_module("b", torch::nn::Linear(3, 3));
      torch::Tensor forward(const torch::Tensor& x) { return a(torch::tanh(b(x))); }
    };
    DistributedDataParallel ddp(std::make_shared<Backwards>(), communicator,
                                {.first_bucket_bytes = 1, .bucket_bytes = 1});
    const auto order = [&] {
      std::vector<int> members;
      for (const auto& bucket : ddp.buckets()) members.push_back(bucket.members.front());
      return members;
    };
    EXPECT_EQ(order(), (std::vector<int>{3, 2, 1, 0}));
    ddp.forward(torch::ones({2, 3})).sum().backward();
    ddp.forward(torch::ones({2, 3})).sum().backward();
    EXPECT_LT(order()[0], 2);  // one of a's two
    EXPECT_LT(order()[1], 2);
    EXPECT_EQ(world.size, 2);
  });
}

TEST(Ddp, adds_up_what_was_made_under_no_sync_and_sends_it_with_the_last_batch) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    for (const bool whole_first : {false, true}) {
      auto alone = make_model();
      DistributedDataParallel ddp(make_model(), communicator,
                                  {.first_bucket_bytes = 300, .bucket_bytes = 600});
      if (whole_first) {  // so that the buckets were laid out anew before
        loss_of(ddp.forward(make_batch().input), make_batch().target).backward();
        ddp.zero_grad();
      }
      for (std::uint64_t micro = 0; micro < 3; ++micro) {
        const auto batch = make_batch(torch::kFloat32, 24, micro), mine = batch.part(world.rank, world.size);
        loss_of(alone->forward(batch.input), batch.target).backward();
        const auto train = [&] { loss_of(ddp.forward(mine.input), mine.target).backward(); };
        if (micro == 2) {
          train();
        } else {
          const auto quiet = ddp.no_sync();
          train();
        }
      }
      EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 2e-6);
    }
  });
}

TEST(Ddp, lets_no_sync_govern_the_pair_whose_forward_it_surrounds) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    auto alone = make_model(), own = make_model();
    const auto batch = make_batch(), mine = batch.part(world.rank, world.size);
    loss_of(alone->forward(batch.input), batch.target).backward();
    loss_of(own->forward(mine.input), mine.target).backward();
    DistributedDataParallel ddp(make_model(), communicator);
    {  // a forward outside and its backward inside communicates
      const auto loss = loss_of(ddp.forward(mine.input), mine.target);
      const auto quiet = ddp.no_sync();
      loss.backward();
    }
    EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 1e-6);
    ddp.zero_grad();
    torch::Tensor loss;  // a forward inside and its backward outside does not
    {
      const auto quiet = ddp.no_sync();
      loss = loss_of(ddp.forward(mine.input), mine.target);
    }
    const auto later = loss_of(ddp.forward(mine.input), mine.target);
    loss.backward();
    EXPECT_EQ(worst_difference(gradients_of(*ddp.module()), gradients_of(*own)), 0);
    ddp.zero_grad();
    later.backward();
    EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 1e-6);
  });
}

TEST(Ddp, refuses_a_backward_that_no_sync_governs_half) {
  run_ddp(1, "shm", [](const World&, Communicator& communicator) {
    DistributedDataParallel ddp(make_model(), communicator);
    const auto batch = make_batch();
    const auto with = ddp.forward(batch.input);
    const auto quiet = ddp.no_sync();
    const auto without = ddp.forward(batch.input);
    EXPECT_THAT(error_of([&] { loss_of(with + without, batch.target).backward(); }), HasSubstr("no_sync"));
  });
}

TEST(Ddp, takes_several_forwards_before_one_backward) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    const auto one = make_batch(), two = make_batch(torch::kFloat32, 24, 9);
    const auto mine_one = one.part(world.rank, world.size), mine_two = two.part(world.rank, world.size);
    for (const bool find_unused : {false, true}) {
      auto alone = make_model();
      (loss_of(alone->forward(one.input), one.target) + loss_of(alone->forward(two.input, false), two.target))
          .backward();
      DistributedDataParallel ddp(make_model(), communicator, {.find_unused_parameters = find_unused});
      const auto a = loss_of(ddp.forward(mine_one.input), mine_one.target);
      const auto b = loss_of(ddp.forward(mine_two.input, false), mine_two.target);
      (a + b).backward();
      EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 1e-6);
    }
  });
}

TEST(Ddp, trains_through_a_second_backward_of_one_forward) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    auto alone = make_model();
    const auto batch = make_batch(), mine = batch.part(world.rank, world.size);
    loss_of(alone->forward(batch.input), batch.target).mul(2).backward();
    DistributedDataParallel ddp(make_model(), communicator);
    const auto loss = loss_of(ddp.forward(mine.input), mine.target);
    loss.backward({}, true);
    loss.backward();
    EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 1e-6);
  });
}

}  // namespace
}  // namespace gradwire
