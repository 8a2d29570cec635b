// The page of a training run: what was printed of it, and the steps of all ranks. Pure.
#pragma once

#include "report/page/page_data.h"
#include "trace/timeline.h"
#include "train/job/options.h"
#include "train/job/result.h"

namespace gradwire {

PageData train_page(const TrainOptions&, const TrainResult&, const Timeline&);

}  // namespace gradwire
