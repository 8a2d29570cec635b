// Where a step's time went, for a terminal: one stacked bar and a table, at most 80 columns. Values in, text
// out.
#pragma once

#include <string>

#include "trace/breakdown.h"

namespace gradwire {

struct StepChartOptions {
  std::string title;
  int width = 78;
};

std::string draw_step(const Breakdown& step, const StepChartOptions& options);

// One part a letter, as long as its share of `width`; rounded so that all are `width` together.
std::string stacked_bar(const Breakdown& step, int width);

}  // namespace gradwire
