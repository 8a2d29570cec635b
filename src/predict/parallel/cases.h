// Published runs of parallel training, each ready to be priced: the machine, the model and the layout that a record
// states, with the usual where it is silent. Nothing of a record's own figure enters.
#pragma once

#include <cstdint>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "predict/parallel/price.h"
#include "predict/parallel/stated_links.h"
#include "predict/records/record.h"

namespace gradwire {

// What a record may leave open, and is then taken as the case's layout says.
enum class Unstated : std::uint8_t { chunks, schedule, batch, micro_batch, recomputation };

struct ParallelCase {
  std::string id, group, platform, model, gpu, point;  // point: "64 gpus dp 8 x tp 8, shard 1"
  std::string strategy;  // "tensor", "pipeline", "sharded", "context", "data", "one gpu"
  Quality quality = Quality::ok;
  bool moe = false;
  Seconds measured = 0;    // 0: its step is not stated
  double rate = 0;         // of a GPU as published; 0: there is none
  std::string counted_in;  // what of. Rates compare where it is the same
  double flops = 0;        // of the model, over all GPUs: what a share of the peak is of
  int sequences = 0;       // of a step
  std::string precision;   // as the record says
  StatedLinks links;
  PlanProblem problem;
  ParallelLayout layout;
  std::vector<std::string> machine_notes;  // what was assumed of the machine
  std::vector<Unstated> unstated;          // of the layout
};

struct ParallelCases {
  std::vector<ParallelCase> cases;
  std::map<std::string, std::string>
      left_out;  // id: why its step can't be predicted. Those with a rate are among the cases
};

ParallelCases parallel_cases(std::span<const Record>);

}  // namespace gradwire
