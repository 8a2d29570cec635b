// Steps of training beyond plain averages: uneven inputs, clipping, compression; and what a step costs in
// exposed communication and memory.
#include <gmock/gmock.h>

#include <malloc.h>

#include <fstream>

#include "base/error.h"
#include "comm/queued.h"
#include "comm/shm/shm.h"
#include "train/ddp_fixture.h"
#include "train/paced_fixture.h"

namespace gradwire {
namespace {

using testing::HasSubstr;

TEST(DdpJoin, lets_ranks_with_fewer_batches_answer_for_the_others) {
  for (const bool divide_by_all : {true, false})
    run_ddp(3, "shm", [&](const World& world, Communicator& communicator) {
      // Rank 0 has two batches, rank 1 has one, rank 2 four.
      constexpr int kBatches[] = {2, 1, 4};
      auto alone = make_model();
      torch::optim::SGD alone_optimizer(alone->parameters(), 0.1);
      for (int step = 0; step < 4; ++step) {
        alone_optimizer.zero_grad();
        const auto with_input =
            static_cast<double>(std::count_if(kBatches, kBatches + 3, [&](int n) { return n > step; }));
        for (Rank rank = 0; rank < 3; ++rank) {
          if (step >= kBatches[rank]) continue;
          const auto part = make_batch(torch::kFloat32, 24, static_cast<std::uint64_t>(step)).part(rank, 3);
          (loss_of(alone->forward(part.input), part.target) / (divide_by_all ? 3 : with_input)).backward();
        }
        alone_optimizer.step();
      }
      DistributedDataParallel ddp(make_model(), communicator,
                                  {.first_bucket_bytes = 300, .bucket_bytes = 600});
      torch::optim::SGD optimizer(ddp.parameters(), 0.1);
      auto join = ddp.join({.divide_by_all = divide_by_all});
      for (int step = 0; step < kBatches[world.rank]; ++step) {
        ddp.zero_grad();
        const auto mine =
            make_batch(torch::kFloat32, 24, static_cast<std::uint64_t>(step)).part(world.rank, 3);
        loss_of(ddp.forward(mine.input), mine.target).backward();
        optimizer.step();
      }
      join.finish();
      expect_identical(communicator, ddp.parameters());
      EXPECT_LT(worst_difference({flat_parameters(ddp.parameters())}, {flat_parameters(alone->parameters())}),
                1e-6);
    });
}

TEST(DdpJoin, finds_unused_parameters_and_syncs_again_afterwards) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    DistributedDataParallel ddp(make_model(), communicator, {.find_unused_parameters = true});
    for (int epoch = 0; epoch < 2; ++epoch) {
      auto join = ddp.join();
      for (int step = 0; step < (world.rank == epoch ? 3 : 1); ++step)
        loss_of(ddp.forward(make_batch().input, step != 1), make_batch().target).backward();
      join.finish();
      EXPECT_THAT(error_of([&] { join.finish(); }), HasSubstr("twice"));
    }
    ddp.zero_grad();
    loss_of(ddp.forward(make_batch().input), make_batch().target).backward();
    expect_identical(communicator, gradients_of(*ddp.module()));
  });
}

TEST(DdpClip, scales_gradients_to_a_common_norm_that_is_the_same_everywhere) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    auto alone = make_model();
    DistributedDataParallel ddp(make_model(), communicator);
    const auto batch = make_batch(), mine = batch.part(world.rank, world.size);
    loss_of(alone->forward(batch.input), batch.target).backward();
    loss_of(ddp.forward(mine.input), mine.target).backward();
    const double expected = torch::nn::utils::clip_grad_norm_(alone->parameters(), 0.1);
    EXPECT_NEAR(ddp.clip_grad_norm(0.1), expected, 1e-6 * expected);
    EXPECT_LT(worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)), 2e-6);
    expect_identical(communicator, gradients_of(*ddp.module()));
    EXPECT_NEAR(ddp.clip_grad_norm(1e9), 0.1, 1e-6);  // small enough already
    EXPECT_THAT(error_of([&] { ddp.clip_grad_norm(0); }), HasSubstr("must be above 0"));
  });
}

double difference_with(std::shared_ptr<CommHook> hook, const World& world, Communicator& communicator) {
  auto alone = make_model();
  const DdpOptions options{.first_bucket_bytes = 600, .bucket_bytes = 600, .hook = std::move(hook)};
  DistributedDataParallel ddp(make_model(), communicator, options);
  double worst = 0;
  for (std::uint64_t step = 0; step < 4; ++step) {
    const auto batch = make_batch(torch::kFloat32, 24, step), mine = batch.part(world.rank, world.size);
    alone->zero_grad();
    ddp.zero_grad();
    loss_of(alone->forward(batch.input), batch.target).backward();
    loss_of(ddp.forward(mine.input), mine.target).backward();
    expect_identical(communicator, gradients_of(*ddp.module()));
    worst = std::max(worst, worst_difference(gradients_of(*ddp.module()), gradients_of(*alone)));
  }
  return worst;
}

TEST(DdpHooks, round_averages_to_16_bits) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    EXPECT_LT(difference_with(make_fp16_hook(), world, communicator), 2.0 / 1024);  // 11 bits
    EXPECT_LT(difference_with(make_bf16_hook(), world, communicator), 2.0 / 128);   // 8 bits
    EXPECT_LT(difference_with(make_average_hook(), world, communicator), 1e-6);
  });
}

TEST(DdpHooks, approximate_with_power_sgd_exactly_where_the_rank_suffices) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    // As many columns as the matrices have: nothing is left out.
    EXPECT_LT(difference_with(make_power_sgd_hook({.rank = 16, .start_step = 1, .min_compression = 1}), world,
                              communicator),
              1e-4);
    EXPECT_THAT(error_of([] { make_power_sgd_hook({.rank = 0}); }), HasSubstr("rank 0 must be at least 1"));
  });
}

TEST(DdpHooks, lose_nothing_for_good_with_power_sgd) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    // The same gradient again and again: what is left out of one step comes in a later one, so that sums
    // agree.
    auto alone = make_model<Net>(torch::kFloat32, 64);
    const auto batch = make_batch(), mine = batch.part(world.rank, world.size);
    loss_of(alone->forward(batch.input), batch.target).backward();
    DistributedDataParallel ddp(make_model<Net>(torch::kFloat32, 64), communicator,
                                {.hook = make_power_sgd_hook({.rank = 1, .start_step = 0})});
    auto sum = torch::zeros_like(alone->middle->weight);
    constexpr int kSteps = 200;
    for (int step = 0; step < kSteps; ++step) {
      ddp.zero_grad();
      loss_of(ddp.forward(mine.input), mine.target).backward();
      sum += ddp->middle->weight.grad();
    }
    EXPECT_LT(worst_difference({sum / kSteps}, {alone->middle->weight.grad()}), 0.1);
  });
}

class Recorder final : public TraceSink {
 public:
  void record(const PhaseEvent& event) override { events.push_back(event); }
  std::vector<PhaseEvent> of(Phase phase) const {
    std::vector<PhaseEvent> found;
    std::copy_if(events.begin(), events.end(), std::back_inserter(found),
                 [&](const auto& e) { return e.phase == phase; });
    return found;
  }
  std::vector<PhaseEvent> events;
};

// A layer whose backward takes a while, whatever the machine is doing besides.
struct Slowly : torch::autograd::Function<Slowly> {
  static constexpr std::chrono::milliseconds kTime{10};
  static torch::Tensor forward(torch::autograd::AutogradContext*, const torch::Tensor& x) {
    return x.clone();
  }
  static torch::autograd::variable_list backward(torch::autograd::AutogradContext*,
                                                 torch::autograd::variable_list g) {
    std::this_thread::sleep_for(kTime);
    return g;
  }
};

struct SlowNet : torch::nn::Module {
  static constexpr int kLayers = 16, kWidth = 64;
  SlowNet() {
    for (int i = 0; i < kLayers; ++i)
      layers.push_back(
          register_module(fmt::format("layer{}", i),
                          torch::nn::Linear(torch::nn::LinearOptions(kWidth, kWidth).bias(false))));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& layer : layers) x = layer(Slowly::apply(x));
    return x;
  }
  std::vector<torch::nn::Linear> layers;
};

double seconds(PhaseEvent::Time begin, PhaseEvent::Time end) {
  return std::max(0.0, std::chrono::duration<double>(end - begin).count());
}

// How much of the buckets' all-reduces ran while backward did.
double hidden_share(const Recorder& trace) {
  const auto backward = trace.of(Phase::backward).at(0);
  const auto reduces = trace.of(Phase::bucket_reduce), ready = trace.of(Phase::bucket_ready);
  EXPECT_EQ(reduces.size(), static_cast<std::size_t>(SlowNet::kLayers));
  double all = 0, hidden = 0;
  for (std::size_t bucket = 0; bucket < reduces.size(); ++bucket) {
    EXPECT_EQ(reduces[bucket].bucket, static_cast<int>(bucket));
    EXPECT_GE(reduces[bucket].begin, ready[bucket].begin);
    all += seconds(reduces[bucket].begin, reduces[bucket].end);
    hidden += seconds(reduces[bucket].begin, std::min(reduces[bucket].end, backward.end));
  }
  return hidden / all;
}

TEST(DdpOverlap, hides_most_communication_under_backward_when_both_take_equally_long) {
  expect_all_ok(run_processes(2, [](const World& world) {
    torch::set_num_threads(1);
    // A layer's gradient takes as long on this link as its backward.
    constexpr double kLayerBytes = SlowNet::kWidth * SlowNet::kWidth * 4;
    Queued link(std::make_unique<Paced>(make_shm(world),
                                        kLayerBytes / std::chrono::duration<double>(Slowly::kTime).count()));
    Recorder trace;
    DistributedDataParallel ddp(make_model<SlowNet>(), link, {.first_bucket_bytes = 1, .bucket_bytes = 1});
    const auto input = torch::randn({4, SlowNet::kWidth});
    ddp.forward(input).sum().backward();
    ddp.set_trace(&trace);
    double best = 0;  // of some steps: whatever else the machine does can only make less of it
    for (int step = 0; step < 5; ++step) {
      trace.events.clear();
      ddp.forward(input).sum().backward();
      best = std::max(best, hidden_share(trace));
    }
    // The first layer has no backward of its own left to hide under: 15 of 16 at best.
    EXPECT_GT(best, 0.8) << "rank " << world.rank;
    if (world.rank == 0) std::printf("hidden under backward: %.0f %%\n", 100 * best);
    ddp.set_trace(nullptr);
    link.run(barrier());
  }));
}

TEST(DdpOverlap, reduces_after_backward_when_told_to) {
  run_ddp(2, "shm", [](const World&, Communicator& communicator) {
    Recorder trace;
    DistributedDataParallel ddp(make_model(), communicator,
                                {.overlap = Overlap::after_backward, .trace = &trace});
    ddp.forward(make_batch().input).sum().backward();
    const auto backward = trace.of(Phase::backward).at(0), reduce = trace.of(Phase::bucket_reduce).at(0);
    EXPECT_GE(reduce.begin, backward.end);
    EXPECT_EQ(trace.of(Phase::exposed_wait).size(), 1u);
    EXPECT_EQ(name_of(Phase::exposed_wait), "exposed wait");
  });
}

// Anonymous and shared memory of this process in MiB, pages that several map counted by their part.
double memory_mib() {
  std::ifstream file("/proc/self/smaps_rollup");
  double kib = 0;
  for (std::string word; file >> word;)
    if (word == "Pss_Anon:" || word == "Pss_Shmem:") {
      double value = 0;
      file >> value;
      kib += value;
    }
  return kib / 1024;
}

struct Wide : torch::nn::Module {
  static constexpr int kWidth = 1400, kLayers = 8;  // 8 matrices of 7.5 MiB
  Wide() {
    for (int i = 0; i < kLayers; ++i)
      layers.push_back(register_module(fmt::format("layer{}", i), torch::nn::Linear(kWidth, kWidth)));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& layer : layers) x = torch::relu(layer(x));
    return x;
  }
  std::vector<torch::nn::Linear> layers;
};

template <typename Forward>
double peak_of_training(std::vector<torch::Tensor> parameters, const Forward& forward) {
  torch::optim::SGD optimizer(std::move(parameters), 1e-3);
  const auto input = torch::randn({64, Wide::kWidth});
  double peak = 0;
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    const auto loss = forward(input).square().mean();
    peak = std::max(peak, memory_mib());
    loss.backward();
    peak = std::max(peak, memory_mib());
    optimizer.step();
    peak = std::max(peak, memory_mib());
  }
  return peak;
}

TEST(DdpMemory, is_that_of_one_process_and_at_most_a_bucket_more) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    const double before = memory_mib();
    double alone = 0, together = 0;
    {
      auto model = std::make_shared<Wide>();
      alone =
          peak_of_training(model->parameters(), [&](const auto& input) { return model->forward(input); }) -
          before;
    }
    malloc_trim(0);
    {
      DistributedDataParallel ddp(std::make_shared<Wide>(), communicator, {.bucket_bytes = Bytes{8} << 20});
      together =
          peak_of_training(ddp.parameters(), [&](const auto& input) { return ddp.forward(input); }) - before;
      communicator.run(barrier());  // while a rank still measures, the pages it shares stay shared
    }
    if (world.rank == 0) std::printf("peak memory: %.1f MiB alone, %.1f MiB with DDP\n", alone, together);
    EXPECT_GT(alone, 2 * 60);  // parameters and gradients: the measure measures
    EXPECT_LT(together, 1.05 * alone + 8);
  });
}

}  // namespace
}  // namespace gradwire
