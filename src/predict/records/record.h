// A measured record: a machine and what somebody measured on it, one JSON line (docs/records.md says which
// fields). Absent values were not stated by the source. A value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/names.h"
#include "base/units.h"
#include "predict/workload/transformer.h"
#include "sched/pipeline.h"
#include "sched/training.h"
#include "topo/machine.h"
#include "topo/node_spec.h"

namespace gradwire {

enum class RecordKind { collective, training, parallel };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<RecordKind> = {"collective", "training",
                                                                         "parallel"};

enum class Quality { ok, weak, odd };  // predict and count it; rough; faulty: never calibrate on it
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<Quality> = {"ok", "weak", "odd"};

enum class BenchTool { nccl_tests, torch_distributed, kernel_time };
template <>
inline constexpr std::array<std::string_view, 3> kNamesOf<BenchTool> = {"nccl-tests", "torch.distributed",
                                                                        "kernel-time"};

struct MeasuredTime {
  Bytes bytes = 0;  // the buffer of one rank
  Seconds time = 0;
  bool peak = false;  // only the best bandwidth of a sweep was published
};

struct CollectiveRecord {  // of an all_reduce
  int nodes = 1, gpus_per_node = 1;
  std::map<std::string, std::string> env;
  std::optional<std::string> nccl_version;
  BenchTool tool = BenchTool::nccl_tests;
  std::vector<MeasuredTime> rows;
};

enum class LinkSetting { normal, nvlink, pcie, no_p2p, infiniband, ethernet };
template <>
inline constexpr std::array<std::string_view, 6> kNamesOf<LinkSetting> = {
    "default", "nvlink", "pcie", "no-p2p", "infiniband", "ethernet"};

struct TrainingValue {
  int nodes = 1, gpus = 1, accumulate = 1;
  LinkSetting link = LinkSetting::normal;
  double samples_per_s = 0;
  bool anchor = false;
  std::optional<int> batch_per_gpu;
  std::optional<NetworkSpec> network;
  std::optional<std::string> distribution;
  std::optional<std::vector<int>> gpu_indices;
};

struct TrainingRecord {
  std::string model;
  std::optional<double> parameters;
  std::optional<std::string> precision, optimizer, framework;
  std::optional<int> gradient_bytes;  // of an element
  std::optional<int> batch_per_gpu, sequence_length;
  std::string distribution, sample;
  bool counts_samples =
      true;                 // batches and rates are in samples of the model, not in tokens or frames of one
  std::optional<bool> xla;  // TensorFlow's compiler was used; absent: not told
  std::optional<bool> overlap;
  std::optional<Bytes> bucket_bytes;
  std::vector<TrainingValue> values;
};

enum class ParallelMetric { tokens_per_s_per_gpu, tflops_per_gpu, step_s, samples_per_s };
template <>
inline constexpr std::array<std::string_view, 4> kNamesOf<ParallelMetric> = {
    "tokens_per_s_per_gpu", "tflops_per_gpu", "step_s", "samples_per_s"};

// Training with tensor, pipeline, context, expert or sharded data parallelism.
struct ParallelRecord {
  int nodes = 1, gpus_per_node = 1;
  std::optional<int> nvlink_domain;  // GPUs joined by NVLink beyond the node
  LinkSetting link = LinkSetting::normal;
  TransformerSizes model;
  bool convolutional = false;
  bool shaped = true;     // all sizes that a cut needs are stated
  std::string precision;  // as it says it: "amp-fp16" too
  Tuning tuning = Tuning::full;
  std::optional<int> global_batch, micro_batch;  // sequences
  int tp = 1, pp = 1, cp = 1, dp = 1;
  std::optional<int> virtual_stages, expert_parallel, shard, shard_size;
  std::optional<bool> sequence_parallel;
  std::optional<ContextKind> context_kind;
  Offload offload = Offload::none;
  std::optional<Recompute> recompute;
  std::optional<PipelineSchedule> schedule;
  std::optional<std::string> optimizer, framework;
  std::optional<int>
      gradient_bytes;  // of an element as it is joined over dp, where notes or our own table tell
  ParallelMetric metric = ParallelMetric::step_s;
  double value = 0;  // in it, as published
  std::optional<std::string> flops_formula;
  std::optional<Seconds> step;  // what is to be predicted
  int gpus() const { return nodes * gpus_per_node; }
};

struct Record {
  RecordKind kind = RecordKind::collective;
  std::string id, source, platform, group, notes;
  std::string gpu;  // empty: not stated
  NodeSpec node;    // gpus is that of the collective; a training value has its own
  Quality quality = Quality::ok;
  std::optional<CollectiveRecord> collective;  // exactly one of these three
  std::optional<TrainingRecord> training;
  std::optional<ParallelRecord> parallel;
  std::string where;  // "collectives.jsonl line 7"
};

// The machine of a collective record, with the GPUs that took part.
Machine machine_of(const Record&);

// A node of a record with so many GPUs, its first or those of these numbers, and the links of a value: NVLink taken away, or
// peer access too.
NodeSpec node_with_links(const Record&, int gpus, LinkSetting,
                         const std::optional<std::vector<int>>& gpu_indices = {});

}  // namespace gradwire
