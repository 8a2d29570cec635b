// What a comparison that rests on a trace has to say of the run in it: where it was computed, and how far it was from what
// is assumed of such a machine. Values and pure functions.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "explain/analysis.h"
#include "predict/step/recorded.h"
#include "topo/machine.h"

namespace gradwire {

struct TracedRun {
  std::string file;
  std::string gpu;  // as the trace names it; empty: not said
  int world = 1;
  std::optional<CollectiveRow> calls;  // the all-reduces that take most time
};

TracedRun traced_run(const RunAnalysis&, const std::string& file);

struct TracedModel {
  RecordedModel recorded;
  int micro_batches = 1;  // as of traced_steps()
};

// Of the rank that others wait for, which the step is as long as; what it waits itself, where ranks take turns, is no
// transfer and stays with what it does besides computing. Throws ConfigError as timeline_of does.
TracedModel recorded_run(const std::vector<Profile>&, const RunAnalysis&, double parameters = 0);

// "NVIDIA A100" where that is not the machine's GPU; empty: it is, or one of both is not known.
std::string other_gpu(const std::string& traced, const Machine&);

// Clauses for people.
std::vector<std::string> remarks_on(const TracedRun&, const Workload&, const StepOptions&,
                                    const std::vector<Machine>&);

}  // namespace gradwire
