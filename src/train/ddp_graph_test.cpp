// Real steps of DistributedDataParallel, watched from outside (by hooks on the parameters and by the calls of its
// communicator), are executions of the graph that the reducer takes its orders from and that the predictor passes.
#include <gmock/gmock.h>

#include <map>

#include "sched/ddp_step.h"
#include "sched/step_execution.h"
#include "train/ddp_fixture.h"
#include "train/watched_fixture.h"

namespace gradwire {
namespace {

using testing::SizeIs;

// A micro-batch as it passed. Gradients that never came have no time.
struct MicroBatch {
  TaskTimes forward, backward;
  std::map<int, Seconds> gradients;
};

struct StepCase {
  std::string name;
  DdpOptions options = {};
  int accumulate = 1;
  std::function<bool(Rank, int step)> uses_extra = [](Rank, int) { return true; };
};

// Trains by a case and holds every step against its graph.
class WatchedTraining {
 public:
  WatchedTraining(const World& world, Communicator& communicator, const StepCase& what)
      : world_(world),
        communicator_(communicator),
        watched_(communicator),
        case_(what),
        ddp_(make_model<OddNet>(), watched_, what.options),
        optimizer_(ddp_.parameters(), 0.1) {
    auto parameters = ddp_.parameters();
    for (std::size_t i = 0; i < parameters.size(); ++i)
      parameters[i].register_hook([this, i](const torch::Tensor&) {
        const bool is_new = passed_.back().gradients.emplace(static_cast<int>(i), steady_now()).second;
        EXPECT_TRUE(is_new) << "a gradient comes once in a backward";
      });
  }

  std::vector<Bucket> train(int step) {
    watched_.sent.clear();
    passed_.clear();
    for (int micro = 0; micro < case_.accumulate; ++micro) learn(step, micro);
    const Seconds begin = steady_now();
    optimizer_.step();
    update_ = {begin, steady_now()};
    ddp_.zero_grad();
    const auto layout = ddp_.buckets();
    const auto graph = ddp_step_graph(world_.size, layout, case_.accumulate);
    EXPECT_EQ(why_no_execution(graph, gather(graph, layout)), "") << case_.name << ", step " << step;
    EXPECT_THAT(watched_.sent, SizeIs(layout.size()));
    for (std::size_t i = 0; i < watched_.sent.size(); ++i) {
      EXPECT_EQ(watched_.sent[i].tag, i + 1) << "buckets leave in their order, each once";
      EXPECT_EQ(watched_.sent[i].kind, Collective::all_reduce);
    }
    return layout;
  }

 private:
  torch::Tensor forward(const Batch& batch, int step, bool sends) {
    if (sends) return ddp_.forward(batch.input, case_.uses_extra(world_.rank, step));
    const auto quiet = ddp_.no_sync();
    return ddp_.forward(batch.input, case_.uses_extra(world_.rank, step));
  }

  void learn(int step, int micro) {
    const auto seed = static_cast<std::uint64_t>(step * 10 + micro);
    const auto batch = make_batch(torch::kFloat32, 24, seed).part(world_.rank, world_.size);
    const bool last = micro + 1 == case_.accumulate;
    passed_.emplace_back();
    passed_.back().forward.begin = steady_now();
    const auto loss = loss_of(forward(batch, step, last), batch.target);
    passed_.back().forward.end = passed_.back().backward.begin = steady_now();
    loss.backward();
    passed_.back().backward.end = steady_now();
    EXPECT_TRUE(last || watched_.sent.empty()) << "nothing leaves before the last micro-batch";
  }

  // A bucket's backward has ended when the last of its gradients has come that do come.
  TaskTimes made(const MicroBatch& passed, const Bucket& bucket) const {
    TaskTimes times{passed.backward.begin, passed.backward.begin};
    for (const int member : bucket.members)
      if (const auto came = passed.gradients.find(member); came != passed.gradients.end())
        times.end = std::max(times.end, came->second);
    return times;
  }

  TaskTimes seen(const Task& task, const std::vector<Bucket>& layout) const {
    if (task.kind == TaskKind::update) return update_;
    const auto bucket = bucket_of(task, static_cast<int>(layout.size()));
    if (task.kind == TaskKind::collective) {
      const auto& sent = watched_.sent;
      const auto index = static_cast<std::size_t>(bucket);
      return index < sent.size() ? sent[index].times : Watched::Sent{}.times;
    }
    const auto& passed = passed_[static_cast<std::size_t>(task.micro_batch)];
    return task.kind == TaskKind::forward ? passed.forward
                                          : made(passed, layout[static_cast<std::size_t>(bucket)]);
  }

  // What all ranks have seen, on the clock that processes of a host share.
  StepRun gather(const StepGraph& graph, const std::vector<Bucket>& layout) {
    StepRun run = unseen_run(graph);
    std::vector<TaskTimes> mine;
    for (const Task& task : graph.ranks[static_cast<std::size_t>(world_.rank)])
      mine.push_back(seen(task, layout));
    std::vector<TaskTimes> all(mine.size() * graph.ranks.size());
    communicator_.run(all_gather(bytes_of(mine), bytes_of(all), DType::f64));
    for (std::size_t rank = 0; rank < graph.ranks.size(); ++rank)
      std::copy_n(all.begin() + static_cast<std::ptrdiff_t>(rank * mine.size()), mine.size(),
                  run.ranks[rank].begin());
    return run;
  }

  const World world_;
  Communicator& communicator_;
  Watched watched_;
  const StepCase case_;
  DistributedDataParallel<OddNet> ddp_;
  torch::optim::SGD optimizer_;
  std::vector<MicroBatch> passed_;
  TaskTimes update_;
};

DdpOptions small_buckets() { return {.first_bucket_bytes = 300, .bucket_bytes = 600}; }

std::vector<StepCase> step_cases() {
  std::vector<StepCase> cases{{.name = "plain", .options = small_buckets()},
                              {.name = "accumulated", .options = small_buckets(), .accumulate = 3},
                              {.name = "after backward", .options = small_buckets()},
                              {.name = "unused", .options = small_buckets(), .accumulate = 2},
                              {.name = "never used", .options = small_buckets()}};
  cases[2].options.overlap = Overlap::after_backward;
  cases[3].options.find_unused_parameters = true;
  cases[3].uses_extra = [](Rank rank, int step) { return (rank + step) % 2 == 0; };
  cases[4].options.static_graph = true;
  cases[4].uses_extra = [](Rank, int) { return false; };
  return cases;
}

class DdpGraph : public testing::TestWithParam<int> {};

TEST_P(DdpGraph, is_executed_by_every_step) {
  run_ddp(GetParam(), "shm", [](const World& world, Communicator& communicator) {
    for (const auto& what : step_cases()) {
      WatchedTraining training(world, communicator, what);
      const auto first = training.train(0), rebuilt = training.train(1);
      // What may go unused in any step has no order of its own.
      EXPECT_EQ(first == rebuilt, what.options.find_unused_parameters) << what.name;
      EXPECT_EQ(training.train(2), rebuilt);
    }
  });
}

INSTANTIATE_TEST_SUITE_P(Ranks, DdpGraph, testing::Values(1, 2, 3, 4));

}  // namespace
}  // namespace gradwire
