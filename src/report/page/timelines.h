// Steps as they are drawn: a recorded or simulated timeline as lanes of named spans. Pure.
#pragma once

#include <string>

#include "report/page/page_data.h"
#include "trace/timeline.h"

namespace gradwire {

constexpr std::size_t kMostSpans = 100'000;  // of a page: what a browser opens at once, under a megabyte

enum class Origin { measured, predicted };

// Whole steps from the first on, as many as kMostSpans allow; what was left out is said in `note`, which is empty if
// nothing was.
struct FittedTimeline {
  DrawnTimeline timeline;
  std::string note;
};
FittedTimeline drawn_timeline(const Timeline&, std::string name, Origin, std::size_t most = kMostSpans);

// By lane and begin, so that columns of them are small.
void sort_spans(DrawnTimeline&);

}  // namespace gradwire
