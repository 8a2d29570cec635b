// What holds a run up, in one word, one sentence and the three numbers that carry it. Pure functions.
//
// The parts of a step that are not computing are losses: input, copies to the GPU, idle, communication nobody hides,
// each as far as all ranks have it, and waiting for the last rank. The largest is the verdict if it takes a fifth of the
// step (waiting: a tenth) or more than computing does; else the step is bound by computing.
#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "explain/rank_steps.h"

namespace gradwire {

enum class Bottleneck {
  compute,
  launch,
  input,
  communication_intra,
  communication_inter,
  communication,
  straggler,
  none,
  unknown
};
std::string_view to_string(Bottleneck);

struct RankSummary {
  int rank = 0;
  StepShares mean;
  Seconds wait = 0;  // of a step: exposed waiting for ranks that came later
  // The same of the middle step, where there are steps to choose from: a hiccup of one step is no straggler.
  std::optional<Seconds> usual_wait = {};
  // Of the run, where it has steps enough: what a rank waits in the middle step, mean of the ranks.
  std::optional<Seconds> usual_wait_of_all = {};
  std::optional<Breakdown> typical = {};  // of its steps, likewise
  Seconds varies = 0;                     // between the quarters of its steps' lengths
  double last_share = 0;  // of the matched collectives, weighted by what others waited: it came last
  bool on_gpu = false;
  bool names_input = false, gpu_unseen = false, calls_unseen = false;  // see RankSteps
};

enum class Reach { unknown, one_node, several_nodes };

struct VerdictFigure {
  std::string what;
  double value = 0;
  std::string unit;  // "ms", "%"
};

struct BottleneckVerdict {
  Bottleneck bottleneck = Bottleneck::unknown;
  std::optional<int> rank;
  std::string reason;
  std::vector<VerdictFigure> figures;
};

BottleneckVerdict judge_ranks(const std::vector<RankSummary>&, Reach);

}  // namespace gradwire
