// What a step costs beyond computing: communication that does not hide under backward, and memory.
#include <fmt/format.h>
#include <gtest/gtest.h>
#include <malloc.h>

#include <fstream>

#include "comm/queued.h"
#include "comm/shm/shm.h"
#include "train/ddp_fixture.h"
#include "train/paced_fixture.h"

namespace gradwire {
namespace {

std::vector<Span> spans_of(SpanKind kind, const Recorder& trace) {
  auto spans = trace.spans(0);
  std::erase_if(spans, [&](const Span& span) { return span.kind != kind; });
  return spans;
}

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

// How much of the buckets' all-reduces ran while backward did: what follows is a wait.
double hidden_share(const Recorder& trace) {
  const Seconds backward_end = spans_of(SpanKind::wait, trace).at(0).begin;
  const auto buckets = spans_of(SpanKind::bucket, trace);
  EXPECT_EQ(buckets.size(), static_cast<std::size_t>(SlowNet::kLayers));
  Seconds all = 0, hidden = 0;
  for (std::size_t i = 0; i < buckets.size(); ++i) {
    EXPECT_EQ(buckets[i].bucket, static_cast<int>(i));
    EXPECT_GT(buckets[i].ready, 0);
    EXPECT_GE(buckets[i].begin, buckets[i].ready);
    EXPECT_EQ(buckets[i].bytes, Bytes{SlowNet::kWidth} * SlowNet::kWidth * 4);
    all += buckets[i].end - buckets[i].begin;
    hidden += std::max(0.0, std::min(buckets[i].end, backward_end) - buckets[i].begin);
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
      trace.clear();
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
    const auto waits = spans_of(SpanKind::wait, trace);
    ASSERT_EQ(waits.size(), 1u);
    EXPECT_GE(spans_of(SpanKind::bucket, trace).at(0).begin, waits[0].begin);
  });
}

// The line of /proc/self/maps that an address belongs to.
std::string mapping_of(const void* address) {
  std::ifstream maps("/proc/self/maps");
  for (std::string line; std::getline(maps, line);) {
    unsigned long begin = 0, end = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx", &begin, &end) != 2) continue;
    const auto place = reinterpret_cast<unsigned long>(address);
    if (place >= begin && place < end) return line;
  }
  return "nowhere";
}

TEST(DdpMemory, of_gradients_is_what_ranks_of_a_host_share) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    DistributedDataParallel ddp(make_model(), communicator);
    const auto mine = make_batch().part(world.rank, world.size);
    for (int step = 0; step < 2; ++step) {
      loss_of(ddp.forward(mine.input), mine.target).backward();
      for (const auto& parameter : ddp.parameters())
        EXPECT_NE(mapping_of(parameter.grad().data_ptr()).find("memfd:"), std::string::npos)
            << mapping_of(parameter.grad().data_ptr());
    }
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

// Of all ranks together, at a moment when none of them computes: which rank a shared page is charged to depends on
// who has touched it so far, and on busy cores the rank that comes first touches more than its part.
double memory_of_ranks_mib(Communicator& communicator) {
  communicator.run(barrier());
  double mib = memory_mib();
  communicator.run(all_reduce(std::as_writable_bytes(std::span(&mib, 1)), DType::f64));
  return mib;
}

template <typename Forward>
double peak_of_training(std::vector<torch::Tensor> parameters, const Forward& forward,
                        Communicator& communicator) {
  torch::optim::SGD optimizer(std::move(parameters), 1e-3);
  const auto input = torch::randn({64, Wide::kWidth});
  double peak = 0;
  const auto look = [&] { peak = std::max(peak, memory_of_ranks_mib(communicator)); };
  for (int step = 0; step < 4; ++step) {
    optimizer.zero_grad();
    const auto loss = forward(input).square().mean();
    look();
    loss.backward();
    look();
    optimizer.step();
    look();
  }
  return peak;
}

TEST(DdpMemory, is_that_of_one_process_and_at_most_a_bucket_more) {
  constexpr int kRanks = 2;
  run_ddp(kRanks, "shm", [](const World& world, Communicator& communicator) {
    const double before = memory_of_ranks_mib(communicator);
    double alone = 0, together = 0;
    {
      auto model = std::make_shared<Wide>();
      const auto forward = [&](const auto& input) { return model->forward(input); };
      alone = (peak_of_training(model->parameters(), forward, communicator) - before) / kRanks;
    }
    malloc_trim(0);
    {
      DistributedDataParallel ddp(std::make_shared<Wide>(), communicator, {.bucket_bytes = Bytes{8} << 20});
      const auto forward = [&](const auto& input) { return ddp.forward(input); };
      together = (peak_of_training(ddp.parameters(), forward, communicator) - before) / kRanks;
    }
    if (world.rank == 0) std::printf("peak memory: %.1f MiB alone, %.1f MiB with DDP\n", alone, together);
    EXPECT_GT(alone, 2 * 60);  // parameters and gradients: the measure measures
    EXPECT_LT(together, 1.05 * alone + 8);
  });
}

}  // namespace
}  // namespace gradwire
