#include "report/page/run_timeline.h"
#include "report/page/topology.h"

namespace gradwire {

PageData run_page(const CaseFile& file, PageData page) {
  RunTimelines run = run_timelines(file.files.profiles, file.files.timelines);
  page.timelines = std::move(run.timelines);
  if (!run.notes.empty()) page.report.add(Gap{});
  for (std::string& note : run.notes) page.report.add(Sentence{std::move(note)});
  if (file.machine) page.topologies.push_back(drawn_topology(*file.machine, Loads::of_nccl));
  return page;
}

}  // namespace gradwire
