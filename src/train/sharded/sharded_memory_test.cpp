// What each stage holds, counted in bytes of the tensors that are there.
#include <gmock/gmock.h>

#include <fstream>

#include "train/loop/optimizer_state.h"
#include "train/sharded/sharded_fixture.h"

namespace gradwire {
namespace {

// Six layers alike of 64 x 64 and 64, so that units are of one size and nothing is padded.
struct Tower : torch::nn::Module {
  Tower() {
    for (int i = 0; i < 6; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), torch::nn::Linear(64, 64)));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& layer : layers) x = torch::tanh(layer->forward(x));
    return x;
  }
  std::vector<torch::nn::Linear> layers;
};
constexpr Bytes kUnit = (64 * 64 + 64) * sizeof(float), kTower = 6 * kUnit;

Bytes optimizer_bytes(torch::optim::Optimizer& optimizer, const std::vector<torch::Tensor>& parameters) {
  std::vector<NamedTensor> named;
  for (std::size_t i = 0; i < parameters.size(); ++i) named.push_back({std::to_string(i), parameters[i]});
  Bytes bytes = 0;
  for (const auto& [name, tensor] : optimizer_tensors(optimizer, named))
    if (tensor.dim() > 0) bytes += static_cast<Bytes>(tensor.nbytes());
  return bytes;
}

Bytes bytes_in_parameters(const torch::nn::Module& module) {
  Bytes bytes = 0;
  for (const auto& parameter : module.parameters()) {
    const auto held = static_cast<Bytes>(parameter.storage().nbytes());
    bytes += held == 0 ? 0 : static_cast<Bytes>(parameter.nbytes());
  }
  return bytes;
}

struct Measured {
  ShardMemory memory;
  Bytes optimizer = 0, gradients = 0, resident = 0, most_resident = 0;
};

// Three steps; looks at what is resident after each layer of a forward, and between steps.
Measured measure(int stage, Communicator& communicator, bool views = false) {
  auto tower = std::make_shared<Tower>();
  ShardedDataParallel sharded(tower, communicator, {.stage = stage, .views = views});
  torch::optim::AdamW optimizer(sharded.parameters());
  Measured measured;
  for (int step = 0; step < 3; ++step) {
    auto x = torch::ones({2, 64});
    for (auto& layer : tower->layers) {
      x = torch::tanh(layer->forward(x));
      measured.most_resident = std::max(measured.most_resident, bytes_in_parameters(*tower));
    }
    x.sum().backward();
    optimizer.step();
  }
  measured.memory = sharded.memory();
  measured.optimizer = optimizer_bytes(optimizer, sharded.parameters());
  for (const auto& share : sharded.parameters())
    measured.gradients += static_cast<Bytes>(share.grad().nbytes());
  for (const auto& parameter : tower->parameters())
    if (parameter.grad().defined()) measured.gradients += static_cast<Bytes>(parameter.grad().nbytes());
  measured.resident = bytes_in_parameters(*tower);
  return measured;
}

TEST(ShardMemory, of_stage_one_is_the_optimizers_at_one_nth) {
  run_ddp(4, "shm", [](const World&, Communicator& communicator) {
    const auto measured = measure(1, communicator);
    EXPECT_EQ(measured.optimizer, 2 * kTower / 4);
    EXPECT_EQ(measured.memory.parameters + measured.memory.gathered, kTower);
    EXPECT_EQ(measured.memory.blocks, 6);  // a whole gradient of each unit
  });
}

TEST(ShardMemory, of_stage_two_is_the_gradients_too_with_two_units_under_way) {
  run_ddp(4, "shm", [](const World&, Communicator& communicator) {
    const auto measured = measure(2, communicator);
    EXPECT_EQ(measured.optimizer, 2 * kTower / 4);
    EXPECT_EQ(measured.gradients, kTower / 4);
    EXPECT_LE(measured.memory.blocks, 2);
    EXPECT_EQ(measured.memory.parameters + measured.memory.gathered, kTower);
  });
}

TEST(ShardMemory, of_stage_three_is_the_parameters_too_with_two_units_gathered) {
  for (const int ranks : {2, 4})
    run_ddp(ranks, "shm", [](const World& world, Communicator& communicator) {
      const auto measured = measure(3, communicator);
      const auto part = kTower / static_cast<Bytes>(world.size);
      EXPECT_EQ(measured.optimizer, 2 * part);
      EXPECT_EQ(measured.gradients, part);
      EXPECT_EQ(measured.memory.parameters, part);
      EXPECT_EQ(measured.memory.slots, 2);
      EXPECT_EQ(measured.memory.gathered, 2 * kUnit);
      EXPECT_LE(measured.memory.blocks, 2);
      EXPECT_LE(measured.most_resident, 2 * kUnit);
      EXPECT_EQ(measured.resident, 0u);  // nothing between steps
    });
}

TEST(ShardMemory, of_views_is_the_share_and_nothing_gathered) {
  for (const int ranks : {2, 4})
    run_ddp(ranks, "shm", [](const World& world, Communicator& communicator) {
      const auto measured = measure(3, communicator, true);
      const auto part = kTower / static_cast<Bytes>(world.size);
      EXPECT_EQ(measured.optimizer, 2 * part);
      EXPECT_EQ(measured.gradients, part);
      EXPECT_EQ(measured.memory.parameters, part);
      EXPECT_EQ(measured.memory.gathered, 0u);
      EXPECT_EQ(measured.memory.slots, 0);
      EXPECT_LE(measured.memory.blocks, 2);
    });
}

// What the system counts of the mapping that an address lies in: each page divided by those who map it.
Bytes proportional_bytes(const void* address) {
  std::ifstream maps("/proc/self/smaps");
  const auto wanted = reinterpret_cast<std::uintptr_t>(address);
  bool inside = false;
  for (std::string line; std::getline(maps, line);) {
    std::uintptr_t begin = 0, end = 0;
    unsigned long kilobytes = 0;
    if (std::sscanf(line.c_str(), "%lx-%lx ", &begin, &end) == 2)
      inside = begin <= wanted && wanted < end;
    else if (inside && std::sscanf(line.c_str(), "Pss: %lu kB", &kilobytes) == 1)
      return kilobytes * 1024;
  }
  return 0;
}

TEST(ShardMemory, of_views_is_there_once_for_all_ranks_as_the_system_counts) {
  for (const int ranks : {2, 4})
    run_ddp(ranks, "shm", [](const World& world, Communicator& communicator) {
      const auto model = std::make_shared<torch::nn::LinearImpl>(1024, 1024);
      constexpr Bytes kSquare = (1024 * 1024 + 1024) * sizeof(float);
      ShardedDataParallel sharded(model, communicator);
      sharded.forward(torch::ones({1, 1024})).sum().backward();
      communicator.run(barrier());  // all have touched every page
      const auto counted = proportional_bytes(sharded.parameters().front().data_ptr());
      communicator.run(barrier());
      const auto part = kSquare / static_cast<Bytes>(world.size);
      EXPECT_GE(counted, part / 2);
      EXPECT_LE(counted, part + 64 * 1024);  // whole pages
    });
}

TEST(ShardMemory, holds_units_that_the_policy_says) {
  run_ddp(2, "tcp", [](const World&, Communicator& communicator) {
    const ShardPolicy pairs{.unit_of = [](const std::string& name) {
      return name.substr(0, 6) < "layer3" ? std::string("lower") : std::string("upper");
    }};
    ShardedDataParallel sharded(std::make_shared<Tower>(), communicator, {.stage = 3, .policy = pairs});
    EXPECT_THAT(sharded.units(), testing::ElementsAre("lower", "upper"));
    sharded.forward(torch::ones({1, 64})).sum().backward();
    EXPECT_EQ(sharded.memory().gathered, 2 * 3 * kUnit);
  });
}

TEST(ShardMemory, is_recorded_as_communication_of_units) {
  run_ddp(2, "shm", [](const World&, Communicator& communicator) {
    Recorder recorder;
    ShardedDataParallel sharded(std::make_shared<Tower>(), communicator,
                                {.views = false, .trace = &recorder});
    sharded.forward(torch::ones({1, 64})).sum().backward();
    int gathers = 0, reduces = 0;
    for (const auto& span : recorder.spans(0)) {
      if (span.kind != SpanKind::bucket) continue;
      gathers += span.name.starts_with("gather ") ? 1 : 0;
      reduces += span.name.starts_with("reduce-scatter ") ? 1 : 0;
      EXPECT_GE(span.bytes, kUnit);
    }
    EXPECT_EQ(reduces, 6);
    // Forward all; backward those that two slots no longer hold, but the first, which has no input to give a gradient.
    EXPECT_EQ(gathers, 6 + 3);
  });
}

}  // namespace
}  // namespace gradwire
