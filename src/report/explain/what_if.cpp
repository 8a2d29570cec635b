#include <fmt/format.h>

#include <algorithm>

#include "base/text.h"
#include "report/explain/explain.h"

namespace gradwire {
namespace {

using Json = nlohmann::json;

// As far apart as what is printed.
bool is_open(const WhatIf& row) { return row.most > row.step * 1.005; }

std::string step_range(const WhatIf& row) {
  std::string range = fmt::format("{:.2f}", row.step * 1e3);
  if (is_open(row)) range += fmt::format(" to {:.2f}", row.most * 1e3);
  return row.relative_error > 0 ? range + fmt::format(" +-{:.0f} %", row.relative_error * 100) : range;
}

double times_faster(Seconds measured, Seconds step) { return step > 0 ? measured / step : 1; }

std::string faster_range(const WhatIf& row, Seconds measured) {
  const std::string most = fmt::format("{:.2f}x", times_faster(measured, row.step));
  return is_open(row) ? fmt::format("{:.2f}x to {}", times_faster(measured, row.most), most) : most;
}

std::string why_open(const WhatIfs& found) {
  return found.ranks_here < found.world
             ? fmt::format(
                   "Waiting stays as it was, and with {} of {} ranks here it can't be told from transfer: "
                   "the "
                   "first figure is right if none of it was waiting; give the traces of all ranks.",
                   found.ranks_here, found.world)
             : "Waiting stays as it was, and the all-reduces of these ranks do not match, so that it can't "
               "be "
               "told from transfer: the first figure is right if none of it was waiting.";
}

Json what_if_row_json(const WhatIf& row, Seconds measured) {
  return {{"what", row.what},
          {"on", row.on.empty() ? Json(nullptr) : Json(row.on)},
          {"step_ms", row.step * 1e3},
          {"comm_exposed_ms", row.exposed * 1e3},
          {"relative_error", row.relative_error},
          {"step_ms_most", row.most * 1e3},
          {"speedup", times_faster(measured, row.step)},
          {"speedup_least", times_faster(measured, row.most)}};
}

}  // namespace

Report what_if_report(const WhatIfs& found) {
  Report report;
  Json rows = Json::array();
  for (const WhatIf& row : found.rows) rows.push_back(what_if_row_json(row, found.step));
  report.data = {{"step_ms", found.step * 1e3},
                 {"comm_exposed_ms", found.exposed * 1e3},
                 {"rows", rows},
                 {"missing", found.missing}};
  if (found.rows.empty() && found.missing.empty()) return report;
  report.add(Title{"The same run otherwise: computing as measured, gradients as recorded"});
  Table table{{{"", "step ms", "exposed", "faster"}}, 1, false};
  table.rows.push_back({"  as it ran", fmt::format("{:.2f}", found.step * 1e3),
                        fmt::format("{:.2f}", found.exposed * 1e3), ""});
  for (const WhatIf& row : found.rows)
    table.rows.push_back({"  " + (row.on.empty() ? row.what : row.what + " (" + printable(row.on) + ")"),
                          step_range(row), fmt::format("{:.2f}", row.exposed * 1e3),
                          faster_range(row, found.step)});
  if (!found.rows.empty()) report.add(std::move(table));
  if (std::any_of(found.rows.begin(), found.rows.end(), is_open))
    report.add(Sentence{why_open(found), "  ", "  "});
  for (const std::string& why : found.missing)
    report.add(Sentence{"No answer for other links: " + printable(why) + ".", "  ", "    "});
  return report;
}

}  // namespace gradwire
