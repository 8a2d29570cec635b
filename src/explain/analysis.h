// A run explained from the traces of its ranks: the one value that `analyze` shows. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/collectives.h"
#include "explain/odd_steps.h"
#include "explain/rank_steps.h"
#include "explain/verdict.h"
#include "import/profile.h"
#include "topo/machine.h"
#include "trace/timeline.h"

namespace gradwire {

struct AnalyzedRank {
  std::string file;
  RankSummary summary;
  GpuTotals gpu;
  int steps = 0;
  int usual_steps = 0;  // of these, the ones that are not odd: what means are of
  StepsFrom steps_from = StepsFrom::whole_trace;
  bool first_left_out = false;  // see Landmarks
  bool has_backward = false;    // the trace says where gradients are made
};

struct RunAnalysis {
  std::vector<AnalyzedRank> ranks;  // by rank
  std::vector<CollectiveRow> collectives;
  std::vector<OddStep> odd_steps;  // left out of all means and of the verdict
  BottleneckVerdict verdict;
  // Of a step: all-reduces that nothing hides, on whichever rank came last, without waiting for ranks that are here.
  Seconds exposed_transfer = 0;
  bool waiting_known =
      false;  // it is told from that transfer: every rank is here, and their all-reduces match
  std::optional<int> world;
  std::string gpu;  // as the trace names it; empty: not said
  Reach reach = Reach::unknown;
  int gpus_of_node = 0;            // 0: not known
  std::vector<std::string> notes;  // what is missing or was assumed, for people
};

// Of a step, over the ranks.
Seconds mean_step(const RunAnalysis&);
Seconds mean_exposed(const RunAnalysis&);
Seconds mean_optimizer(const RunAnalysis&);

// Where the ranks of a run are, as its log says it; 0: not known.
struct NodesOfRun {
  int nodes = 0, gpus_each = 0;
};

// What is known of where a run ran besides its traces. Borrowed.
struct PlaceOfRun {
  const Machine* machine = nullptr;  // as somebody stated it
  const Machine* rated = nullptr;    // gives the rates to expect: that, or what a log shows of it
  NodesOfRun nodes = {};
};

// Throws ConfigError when there is no profile.
RunAnalysis analyze_profiles(const std::vector<Profile>&, const PlaceOfRun& = {});

using StepsOfRanks = std::vector<std::vector<RankStep>>;
using SpansOfRanks = std::vector<std::vector<CollectiveSpan>>;

// What both have in common. Of each of analysis.ranks, in their order: `steps` give the means, but for odd ones; `spans` are
// matched and summed up, and the verdict is given. Ranks are sorted.
void finish_analysis(RunAnalysis& analysis, StepsOfRanks steps, SpansOfRanks& spans, const Machine* machine);

// The same of a run that Gradwire recorded itself.
RunAnalysis analyze_timeline(const Timeline&, const std::string& file, const Machine* machine = nullptr);

// A trace of torch.profiler in the form that the predictor takes: computing as measured, gradients and buckets
// as recorded, so that `compare` can put other wires under this very run.
//
// One rank's steps, as rank 0 of as many ranks as the run had. A bucket is ready when the GPU is done with what
// was launched before its all-reduce. Of a run that sent nothing, buckets are those of gradients.h, with `parameters` in
// the model if somebody says so. Throws ConfigError with the file's name in front when no size of gradients is known.
Timeline timeline_of(const Profile&, double parameters = 0);

// The same, and how many of the steps that the trace marks make one: micro-batches, where the profiler was stepped at each.
struct TracedSteps {
  Timeline timeline;
  int micro_batches = 1;
};
TracedSteps traced_steps(const Profile&, double parameters = 0);

}  // namespace gradwire
