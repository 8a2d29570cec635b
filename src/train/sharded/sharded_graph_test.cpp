// Real steps of ShardedDataParallel, watched from outside by the calls of its communicator, start the collectives of the
// graph of their step, in its order: what is proved and priced is what runs. Where gathers are views the graph is that of units
// which are kept whole, and of its gathers one meeting is left.
#include <gmock/gmock.h>

#include "sched/sharded_step.h"
#include "train/sharded/sharded_fixture.h"
#include "train/sharded/unit_tags.h"
#include "train/watched_fixture.h"

namespace gradwire {
namespace {

using testing::ElementsAreArray;
using Kind = UnitEvent::Kind;

constexpr int kWidth = 16;

// Layers that follow one another; those of a tied model end with the first again.
struct Layers : torch::nn::Module {
  Layers(int count, bool is_tied) : tied(is_tied) {
    for (int i = 0; i < count; ++i)
      layers.push_back(register_module("layer" + std::to_string(i), torch::nn::Linear(kWidth, kWidth)));
  }
  torch::Tensor forward(torch::Tensor x) {
    for (auto& layer : layers) x = torch::tanh(layer->forward(x));
    return tied ? layers.front()->forward(x) : x;
  }
  const bool tied;
  std::vector<torch::nn::Linear> layers;
};

// Of one micro-batch. The first layer has no input to give a gradient, so backward does not look at its weights.
std::vector<UnitEvent> events_of(const Layers& model, int micro_batch, bool sent) {
  const int count = static_cast<int>(model.layers.size());
  std::vector<UnitEvent> events;
  for (int unit = 0; unit < count; ++unit) events.push_back({Kind::forward, unit, micro_batch});
  if (model.tied) {
    events.push_back({Kind::forward, 0, micro_batch});
    events.push_back({Kind::backward, 0, micro_batch});
  }
  for (int unit = count - 1; unit > 0; --unit) {
    events.push_back({Kind::backward, unit, micro_batch});
    events.push_back({Kind::gradient, unit, micro_batch, false, sent});
  }
  events.push_back({Kind::gradient, 0, micro_batch, false, sent});
  return events;
}

struct ShardCase {
  int stage = 3, layers = 5, accumulate = 1;
  bool tied = false, views = false;
};

std::vector<ShardCase> shard_cases() {
  std::vector<ShardCase> cases;
  for (const int stage : {1, 2, 3})
    for (const int accumulate : {1, 3})
      for (const bool tied : {false, true})
        cases.push_back({.stage = stage, .accumulate = accumulate, .tied = tied});
  for (const int accumulate : {1, 3})
    for (const bool tied : {false, true})
      cases.push_back({.accumulate = accumulate, .tied = tied, .views = true});
  cases.push_back({.layers = 1});
  cases.push_back({.layers = 2, .accumulate = 2});
  return cases;
}

std::string name_of_call(Collective kind, int unit) {
  return fmt::format("{} {}", kind == Collective::all_gather ? "gather" : "reduce", unit);
}

std::string name_of_call(const Watched::Sent& sent) {
  if (sent.tag == kShowTag) return "show";
  if (sent.tag == kReleaseTag) return "release";
  return name_of_call(sent.kind, static_cast<int>(sent.tag & 0xffffff));
}

class WatchedShards {
 public:
  WatchedShards(const World& world, Communicator& communicator, const ShardCase& what)
      : watched_(communicator),
        case_(what),
        model_(std::make_shared<Layers>(what.layers, what.tied)),
        sharded_(model_, watched_,
                 {.stage = what.stage,
                  .policy = {.unit_of = [](const std::string& name) { return name.substr(0, 6); }},
                  .views = what.views}),
        optimizer_(sharded_.parameters(), 0.1) {
    constexpr Bytes kUnit = (kWidth * kWidth + kWidth) * sizeof(float);
    const bool views = what.views && world.size > 1;
    const ShardedModel model{.ranks = world.size,
                             .stage = views ? 2 : what.stage,
                             .units = std::vector<Bytes>(static_cast<std::size_t>(what.layers), kUnit)};
    std::vector<UnitEvent> events;
    for (int micro = 0; micro < what.accumulate; ++micro)
      for (const auto& event : events_of(*model_, micro, what.stage > 1 || micro + 1 == what.accumulate))
        events.push_back(event);
    EXPECT_TRUE(is_whole_step(model, events));
    const auto graph = sharded_step_graph(model, events);
    for (const Task& task : graph.ranks[0])
      if (task.kind == TaskKind::collective) graph_.push_back(name_of_call(task.collective, task.unit));
    if (!views) return;
    graph_ = of_graph("reduce");
    graph_.insert(graph_.begin(), "show");
    graph_.push_back("release");
  }

  void step() {
    sharded_.zero_grad();
    for (int micro = 0; micro + 1 < case_.accumulate; ++micro) {
      const auto quiet = sharded_.no_sync();
      learn();
    }
    learn();
    optimizer_.step();
  }

  void evaluate() {
    const torch::NoGradGuard no_grad;
    sharded_.forward(torch::ones({2, kWidth}));
  }

  // Its collectives; of views the meetings before the first use of a unit and after the last.
  const std::vector<std::string>& graph() const { return graph_; }
  std::vector<std::string> of_graph(const std::string& kind) const {
    auto some = graph_;
    std::erase_if(some, [&](const auto& call) { return !call.starts_with(kind); });
    return some;
  }

  // Since it was last asked.
  std::vector<std::string> started() {
    std::vector<std::string> calls;
    for (const auto& sent : std::exchange(watched_.sent, {}))
      if (sent.tag != 0) calls.push_back(name_of_call(sent));
    return calls;
  }

 private:
  void learn() { sharded_.forward(torch::ones({2, kWidth})).sum().backward(); }

  Watched watched_;
  const ShardCase case_;
  const std::shared_ptr<Layers> model_;
  ShardedDataParallel<Layers> sharded_;
  torch::optim::SGD optimizer_;
  std::vector<std::string> graph_;
};

class ShardedGraph : public testing::TestWithParam<int> {};

TEST_P(ShardedGraph, is_executed_by_every_step_after_the_first) {
  run_ddp(GetParam(), "shm", [](const World& world, Communicator& communicator) {
    for (const auto& what : shard_cases()) {
      WatchedShards training(world, communicator, what);
      training.step();
      EXPECT_FALSE(training.started().empty());
      for (int step = 1; step < 4; ++step) {
        training.step();
        EXPECT_THAT(training.started(), ElementsAreArray(training.graph()))
            << "stage " << what.stage << ", " << what.layers << " layers, " << what.accumulate
            << " micro-batches" << (what.tied ? ", tied" : "") << (what.views ? ", views" : "");
      }
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, ShardedGraph, testing::Values(1, 2, 3));

// A forward without a backward takes what it needs in the order of the graph, and ahead of time; what it gathered is still
// whole for the step where units are kept.
TEST(ShardedGraphs, are_executed_after_a_test_of_the_model) {
  run_ddp(2, "shm", [](const World& world, Communicator& communicator) {
    for (const int stage : {1, 2, 3}) {
      WatchedShards training(world, communicator, {.stage = stage});
      training.step();
      training.started();
      training.evaluate();
      const std::vector<std::string> forward(training.graph().begin(), training.graph().begin() + 5);
      EXPECT_THAT(training.started(), ElementsAreArray(forward));
      training.step();
      EXPECT_THAT(training.started(),
                  ElementsAreArray(stage == 3 ? training.graph() : training.of_graph("reduce")));
      training.step();
      EXPECT_THAT(training.started(), ElementsAreArray(training.graph()));
    }
  });
}

}  // namespace
}  // namespace gradwire
