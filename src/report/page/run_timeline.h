// What the ranks of a run did, as their traces say it: a lane for every stream of a GPU, or for computing and
// communication where there was none. Pure.
#pragma once

#include <string>
#include <vector>

#include "explain/case_file.h"
#include "import/read_all.h"
#include "report/page/page_data.h"
#include "report/page/timelines.h"

namespace gradwire {

// One timeline of all ranks' profiles, and one of each of Gradwire's own traces. Where there are more spans than a page
// takes, kernels that follow each other closely are drawn as one; then steps are left out. `notes` say so.
struct RunTimelines {
  std::vector<DrawnTimeline> timelines;
  std::vector<std::string> notes;
};
RunTimelines run_timelines(const std::vector<Profile>&, const std::vector<NamedTimeline>&,
                           std::size_t most = kMostSpans);

// The page of a run that was read: what was found in it, its timelines, its machine. `page` has the verb, the title and the report.
PageData run_page(const CaseFile&, PageData page);

}  // namespace gradwire
