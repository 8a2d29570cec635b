// How a model is trained: what a user chooses, or what a measured record says was chosen. A value.
#pragma once

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <string_view>

#include "base/units.h"
#include "predict/backends/backends.h"
#include "predict/nccl/settings.h"
#include "predict/workload/workload.h"
#include "sched/buckets.h"
#include "sched/training.h"
#include "trace/breakdown.h"

namespace gradwire {

// Who spreads the batches and joins the gradients.
//   ddp            one process a GPU, buckets that leave during backward
//                  (PyTorch; megatron_dp and paddle alike)
//   horovod        one process a GPU, fused when a cycle ends (mxnet and byteps alike)
//   tf_replicated  one process for all GPUs, one all-reduce a gradient (mirrored alike)
//   dataparallel   one process; parameters are copied out and gradients gathered to
//                  the first GPU every step
//   none           ranks are not synchronised
enum class Distribution : std::uint8_t { ddp, horovod, tf_replicated, dataparallel, none };
template <>
inline constexpr std::array<std::string_view, 5> kNamesOf<Distribution> = {"ddp", "horovod", "tf-replicated",
                                                                           "dataparallel", "none"};

// A step measured on one GPU without any distribution: from it, compute time is exact and only what
// communication adds is predicted.
struct Anchor {
  Seconds step = 0;
  int batch = 1;                            // samples of a micro-batch
  int accumulate = 1;                       // micro-batches of that step
  std::optional<Precision> precision = {};  // absent: the one asked for
  // Of a run that was recorded instead: `step` is then what it computed, with whatever the communication beside it
  // (comm_overlapped) slowed already in it.
  std::optional<Breakdown> recorded = {};
  bool operator==(const Anchor&) const = default;
};

struct StepOptions {
  int batch = 0;       // samples a GPU takes a micro-batch; 0: the model's own
  int accumulate = 1;  // micro-batches between two all-reduces
  Precision precision = Precision::fp32;
  int gradient_bytes = 4;  // of one element: 4, or 2 for fp16 and bf16 gradients
  Compression compression = Compression::none;
  BucketCaps buckets;
  Distribution distribution = Distribution::ddp;
  std::optional<bool> overlap;  // all-reduce under backward; absent: not known, the usual of its kind
  OptimizerKind optimizer = OptimizerKind::models_own;
  std::optional<Anchor> anchor;
  Seconds data = 0;                 // waiting for the input pipeline, each micro-batch
  Backend backend = Backend::nccl;  // who joins the gradients
  NcclSettings nccl;                // what the environment tells NCCL
};

void check_options(const StepOptions&);  // throws ConfigError: what, and what would be right

Precision parse_precision(std::string_view text);        // also "bfloat16"; throws ConfigError
Distribution parse_distribution(std::string_view text);  // every name of a record; throws ConfigError
Compression parse_compression(std::string_view text);    // throws ConfigError

// What a record or the file of a model says that it was trained by, "adamw (bf16 states)".
OptimizerKind optimizer_in(std::string_view text);
OptimizerKind optimizer_of(const StepOptions&, const Workload&);  // asked for, or the model's own

// How a model is trained, in the words of a user: the flags of `compare` and `train --on`, and what a page asks. A value.
struct StepFlags {
  int batch = 0, accumulate = 1, sequence = 0;
  double step_ms = 0, bucket_mb = 25, data_ms = 0;
  std::string precision = "fp32", gradients = "fp32", compression = "none", distribution = "ddp", optimizer,
              backend = "nccl";
  bool no_overlap = false;
  std::map<std::string, std::string> nccl;  // its variables in the user's environment
  bool operator==(const StepFlags&) const = default;
};

// Throws ConfigError for values that can't be. DDP's own defaults: overlap, 25 MiB buckets.
StepOptions step_options(const StepFlags&, const Workload&);
std::optional<int> sequence_of(const StepFlags&);

}  // namespace gradwire
