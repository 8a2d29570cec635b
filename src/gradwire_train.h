// All that a program needs to train with several ranks: gradwire.h, DistributedDataParallel, ShardedDataParallel,
// tensor and pipeline parallelism, and the rest of a loop.
#pragma once

#include "gradwire.h"
#include "trace/breakdown.h"
#include "trace/recorder.h"
#include "train/ddp.h"
#include "train/loop/checkpoint.h"
#include "train/loop/gather_timeline.h"
#include "train/loop/metrics.h"
#include "train/loop/sampler.h"
#include "train/loop/seed.h"
#include "train/pipeline/pipeline.h"
#include "train/pipeline/recompute.h"
#include "train/precision/grad_scaler.h"
#include "train/precision/master_weights.h"
#include "train/process_group.h"
#include "train/sharded/shard_checkpoint.h"
#include "train/sharded/sharded.h"
#include "train/sync_batch_norm.h"
#include "train/tensor/attention.h"
#include "train/tensor/vocabulary.h"
