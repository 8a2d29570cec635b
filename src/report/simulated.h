// A step of `gradwire train` that is predicted instead of run, as a Report: said as a real run is. On a machine, or over wires
// that were measured between ranks that were recorded.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "predict/compare/compare.h"
#include "predict/step/step.h"
#include "report/page/page_data.h"
#include "report/report.h"
#include "topo/machine.h"
#include "trace/timeline.h"

namespace gradwire {

struct RecordedRun {
  std::string file;
  Timeline timeline;
};

// Where it is predicted for a machine.
struct SimulatedOn {
  Machine machine;
  std::string workload, sample;  // "gpt2", "sequence"
  NcclSettings nccl = {};        // what the environment tells it
};

struct SimulatedStep {
  std::string model, on;  // as they were asked for
  StepEstimate estimate;
  std::optional<SimulatedOn> machine = {};  // absent: its wires were measured
  std::string backend = {};                 // of those wires
  std::optional<Timeline> replayed =
      {};  // steps of ranks that rehearsed; absent: one step of ranks that are alike
  std::optional<RecordedRun> real = {};  // the same run, taken for real
  bool disturbed = false;                // the model is a trace of ranks that communicated
  std::optional<Misfit> misfit = {};     // the GPU's memory does not hold it
  std::string warning = {};              // of the question, by whoever asked it; empty: none
  std::string trace = {};                // the file that its timeline is written to; empty: none
};

// Every step that was replayed, or one step of some of its ranks.
Timeline timeline_of(const SimulatedStep&);

Report simulated_report(const SimulatedStep&);

// That report with the steps drawn, those that were `recorded` below, and the machine.
PageData simulated_page(const SimulatedStep&, Report, const std::vector<RecordedRun>& recorded);

}  // namespace gradwire
