// A run explained from the traces of its ranks: the one value that `analyze` shows. Pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/collectives.h"
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
  StepsFrom steps_from = StepsFrom::whole_trace;
};

struct RunAnalysis {
  std::vector<AnalyzedRank> ranks;  // by rank
  std::vector<CollectiveRow> collectives;
  BottleneckVerdict verdict;
  std::optional<int> world;
  std::string gpu;  // as the trace names it; empty: not said
  Reach reach = Reach::unknown;
  int gpus_of_node = 0;            // 0: not known
  std::vector<std::string> notes;  // what is missing or was assumed, for people
};

// Of a step, over the ranks.
Seconds mean_step(const RunAnalysis&);
Seconds mean_exposed(const RunAnalysis&);

// `machine` is what the ranks ran on, if anybody said so: it gives the rates to expect. Throws ConfigError
// when there is no profile.
RunAnalysis analyze_profiles(const std::vector<Profile>&, const Machine* machine = nullptr);

// What both have in common: `spans` of each of analysis.ranks, in their order, are matched and summed up, and
// the verdict is given. Ranks are sorted.
void finish_analysis(RunAnalysis& analysis, std::vector<std::vector<CollectiveSpan>>& spans,
                     const Machine* machine);

// The same of a run that Gradwire recorded itself.
RunAnalysis analyze_timeline(const Timeline&, const std::string& file, const Machine* machine = nullptr);

// A trace of torch.profiler in the form that the predictor takes: computing as measured, gradients and buckets
// as recorded, so that `compare` can put other wires under this very run.
constexpr const char* kOnProcessor = "torch.profiler on a processor";  // the source of a run without GPUs

// One rank's steps, as rank 0 of as many ranks as the run had. A bucket is ready when the GPU is done with what
// was launched before its all-reduce. Throws ConfigError with the file's name in front when no step has an
// all-reduce of known size.
Timeline timeline_of(const Profile&);

}  // namespace gradwire
