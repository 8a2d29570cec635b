#include "report/page/train_page.h"

#include <fmt/format.h>

#include "report/page/timelines.h"
#include "report/train.h"

namespace gradwire {

PageData train_page(const TrainOptions& options, const TrainResult& result, const Timeline& timeline) {
  PageData page;
  page.verb = "train";
  page.command = options.command;
  page.title = fmt::format("{} on {} ranks", options.model, result.ranks);
  page.report = run_report(options, result);
  Report trained = train_report(options, result);
  page.report.data = trained.data;
  page.report.add(Gap{});
  page.report.append(std::move(trained));
  auto fitted = drawn_timeline(timeline, "measured", Origin::measured);
  page.timelines.push_back(std::move(fitted.timeline));
  if (!fitted.note.empty()) page.report.add(Sentence{fitted.note});
  return page;
}

}  // namespace gradwire
