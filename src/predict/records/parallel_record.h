// A record of training with tensor, pipeline, context, expert or sharded data parallelism: the fields of one line of
// kind "parallel" as its source states them. Absent: not stated. A value.
#pragma once

#include <optional>
#include <string>

#include "base/units.h"
#include "predict/workload/transformer.h"

namespace gradwire {

class Fields;

struct ParallelRecord {
  int nodes = 1, gpus_per_node = 1;
  std::optional<int> nvlink_domain;  // GPUs joined by NVLink beyond the node
  std::string link;                  // "default", "nvlink", "pcie", "no-p2p"
  TransformerSizes model;
  std::string model_kind;  // "decoder", "encoder", "encoder-decoder", "hybrid", "cnn"
  bool shaped = true;      // all sizes that a cut needs are stated
  std::string precision, tuning;
  std::optional<int> global_batch, micro_batch;  // sequences
  int tp = 1, pp = 1, cp = 1, dp = 1;
  std::optional<int> virtual_stages, expert_parallel, shard, shard_size;
  std::optional<bool> sequence_parallel;
  std::optional<std::string> context_kind, offload, recompute, schedule, optimizer, framework;
  std::optional<std::string> gradient_dtype;  // what is joined over dp, where notes or our own table tell
  std::string metric;
  double value = 0;
  std::optional<Seconds> step;  // what is to be predicted
  int gpus() const { return nodes * gpus_per_node; }
};

ParallelRecord read_parallel(const Fields&);  // throws ConfigError, UnknownValue

}  // namespace gradwire
