// A measured record: a machine and what somebody measured on it, one JSON line (docs/records.md says which
// fields). Absent values were not stated by the source. A value.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/units.h"
#include "predict/records/parallel_record.h"
#include "topo/machine.h"
#include "topo/node_spec.h"

namespace gradwire {

enum class RecordKind { collective, training, parallel };
enum class Quality { ok, weak, odd };  // predict and count it; rough; faulty: never calibrate on it
enum class BenchTool { nccl_tests, torch_distributed, kernel_time };

struct MeasuredTime {
  Bytes bytes = 0;  // the buffer of one rank
  Seconds time = 0;
  bool peak = false;  // only the best bandwidth of a sweep was published
};

struct CollectiveRecord {
  std::string collective, dtype;
  int nodes = 1, gpus_per_node = 1;
  std::map<std::string, std::string> env;
  std::optional<std::string> nccl_version;
  BenchTool tool = BenchTool::nccl_tests;
  std::vector<MeasuredTime> rows;
};

enum class LinkSetting {
  normal,
  nvlink,
  pcie,
  no_p2p,
  infiniband,
  ethernet
};  // normal is "default" in files

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
  std::optional<std::string> gradient_dtype, precision, optimizer, framework;
  std::optional<int> batch_per_gpu, sequence_length;
  std::string distribution, sample, metric;
  std::optional<bool> overlap;
  std::optional<Bytes> bucket_bytes;
  std::vector<TrainingValue> values;
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

std::string_view to_string(RecordKind);
std::string_view to_string(Quality);
std::string_view to_string(BenchTool);
std::string_view to_string(LinkSetting);

}  // namespace gradwire
