// Published runs of parallel training, each ready to be priced: the machine, the model and the layout that a record
// states, with the usual where it is silent. Nothing of a record's own figure enters.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

#include "predict/parallel/price.h"
#include "predict/records/record.h"

namespace gradwire {

struct ParallelCase {
  std::string id, group, platform, model, gpu, point;  // point: "64 gpus dp 8 x tp 8, shard 1"
  std::string strategy;  // "tensor", "pipeline", "sharded", "context", "data", "one gpu"
  Quality quality = Quality::ok;
  bool moe = false;
  Seconds measured = 0;
  double flops = 0;       // of the model, over all GPUs: what a share of the peak is of
  int sequences = 0;      // of a step; 0: not known
  std::string precision;  // as the record says
  LinkSetting link = LinkSetting::normal;
  PlanProblem problem;
  std::vector<std::string> assumed;
};

struct ParallelCases {
  std::vector<ParallelCase> cases;
  std::map<std::string, std::string> left_out;  // id: why it can't be predicted
};

ParallelCases parallel_cases(std::span<const Record>);

// What a record says as a layout; what it leaves open is added to `assumed`, a sentence each.
ParallelLayout layout_of(const ParallelRecord&, std::vector<std::string>& assumed);

}  // namespace gradwire
