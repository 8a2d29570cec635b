// Steps of 10 ms, in one of which something happens once.
#include "explain/odd_steps.h"

#include <gtest/gtest.h>

#include "explain/analysis.h"
#include "explain/trace_fixture.h"

namespace gradwire {
namespace {

struct Happening {
  double input = 0, idle = 0;  // before the first kernel, and after the last; microseconds
  int calls = 1;               // all-reduces of 100 us
};

// 9 ms of computing each.
RunAnalysis analysis_of(const std::vector<Happening>& steps, int rank = 0, int world = 1) {
  SampleTrace trace;
  trace.distributed(rank, world).gpus(world);
  double begin = 0;
  for (int i = 0; i < static_cast<int>(steps.size()); ++i) {
    const Happening& step = steps[static_cast<std::size_t>(i)];
    trace.host("user_annotation", "enumerate(DataLoader)#_SingleProcessDataLoaderIter.__next__", begin,
               step.input + 50);
    const double first = begin + step.input + 100;
    trace.kernel(first, 9000);
    double at = first + 9000;
    for (int k = 0; k < step.calls; ++k, at += 100) trace.all_reduce(at, 100);
    const double end = at + step.idle + 800;
    trace.step(i, begin, end - begin);
    begin = end;
  }
  return analyze_profiles({trace.profile()});
}

TEST(OddSteps, decide_nothing_and_are_named) {
  const auto first = analysis_of({{.input = 900e3}, {}, {}, {}, {}, {}});
  EXPECT_EQ(first.verdict.bottleneck, Bottleneck::compute);
  ASSERT_EQ(first.odd_steps.size(), 1u);
  EXPECT_EQ(first.odd_steps[0].number, 0);
  EXPECT_NEAR(mean_step(first), 10e-3, 1e-6);  // what is shown is what was judged
  EXPECT_EQ(first.ranks[0].steps, 6);
  EXPECT_NEAR(first.collectives.at(0).exposed, 0.1e-3, 1e-9);
  EXPECT_NE(first.notes.back().find("step 0 is unlike the others: it waits for its input and takes 910.0 ms"),
            std::string::npos)
      << first.notes.back();
  const auto both = analysis_of({{.input = 900e3}, {}, {}, {}, {.idle = 500e3}});
  EXPECT_EQ(both.verdict.bottleneck, Bottleneck::compute);
  EXPECT_EQ(both.odd_steps.size(), 2u);
}

TEST(OddSteps, are_none_where_it_happens_again) {
  // Four workers hand their batches over together: the loop waits once in four steps.
  const Happening waits{.input = 40e3};
  const auto analysis = analysis_of({waits, {}, {}, {}, waits, {}, {}, {}});
  EXPECT_TRUE(analysis.odd_steps.empty());
  EXPECT_EQ(analysis.verdict.bottleneck, Bottleneck::input);
}

TEST(OddSteps, are_none_where_a_step_sends_what_others_gather) {
  // Accumulation over four batches: the last sends 300 all-reduces, 30 ms.
  const auto analysis = analysis_of({{.calls = 0}, {.calls = 0}, {.calls = 0}, {.calls = 300}}, 0, 2);
  EXPECT_TRUE(analysis.odd_steps.empty());
  EXPECT_EQ(analysis.verdict.bottleneck, Bottleneck::communication_intra);
}

TEST(OddSteps, are_none_among_two) {
  EXPECT_EQ(analysis_of({{.input = 900e3}, {}}).verdict.bottleneck, Bottleneck::input);
}

RankStep idle_step(int number, Seconds idle) {
  RankStep step;
  step.number = number;
  step.shares.parts.forward = 0.01;
  step.shares.idle = idle;
  return step;
}

TEST(OddSteps, are_none_where_most_would_be) {
  // Every rank has a hiccup of its own, each in another step.
  std::vector<std::vector<RankStep>> ranks(4);
  for (int rank = 0; rank < 4; ++rank)
    for (int step = 0; step < 4; ++step)
      ranks[static_cast<std::size_t>(rank)].push_back(idle_step(step, step == rank ? 0.1 : 0));
  EXPECT_TRUE(find_odd_steps(ranks).empty());
  ranks.resize(1);
  EXPECT_EQ(find_odd_steps(ranks).size(), 1u);
}

}  // namespace
}  // namespace gradwire
